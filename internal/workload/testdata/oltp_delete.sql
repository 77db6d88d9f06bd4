# event 1
delete: DELETE FROM sbtest1 WHERE id=506
# event 2
delete: DELETE FROM sbtest3 WHERE id=79
# event 3
delete: DELETE FROM sbtest2 WHERE id=333
