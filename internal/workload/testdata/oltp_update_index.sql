# event 1
index_update: UPDATE sbtest1 SET k=k+1 WHERE id=506
# event 2
index_update: UPDATE sbtest3 SET k=k+1 WHERE id=79
# event 3
index_update: UPDATE sbtest2 SET k=k+1 WHERE id=333
