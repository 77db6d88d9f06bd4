# event 1
point_select: SELECT c FROM sbtest1 WHERE id=506
# event 2
point_select: SELECT c FROM sbtest3 WHERE id=79
# event 3
point_select: SELECT c FROM sbtest2 WHERE id=333
