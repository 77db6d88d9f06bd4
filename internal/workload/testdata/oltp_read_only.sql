# event 1
begin: BEGIN
point_select: SELECT c FROM sbtest1 WHERE id=506
point_select: SELECT c FROM sbtest1 WHERE id=821
point_select: SELECT c FROM sbtest1 WHERE id=79
point_select: SELECT c FROM sbtest1 WHERE id=414
point_select: SELECT c FROM sbtest1 WHERE id=333
point_select: SELECT c FROM sbtest1 WHERE id=630
point_select: SELECT c FROM sbtest1 WHERE id=586
point_select: SELECT c FROM sbtest1 WHERE id=721
point_select: SELECT c FROM sbtest1 WHERE id=881
point_select: SELECT c FROM sbtest1 WHERE id=282
simple_range: SELECT c FROM sbtest1 WHERE id BETWEEN 310 AND 409
sum_range: SELECT SUM(k) FROM sbtest3 WHERE id BETWEEN 724 AND 823
order_range: SELECT c FROM sbtest3 WHERE id BETWEEN 356 AND 455 ORDER BY c
distinct_range: SELECT DISTINCT c FROM sbtest3 WHERE id BETWEEN 246 AND 345 ORDER BY c
commit: COMMIT
# event 2
begin: BEGIN
point_select: SELECT c FROM sbtest1 WHERE id=287
point_select: SELECT c FROM sbtest1 WHERE id=519
point_select: SELECT c FROM sbtest1 WHERE id=590
point_select: SELECT c FROM sbtest1 WHERE id=429
point_select: SELECT c FROM sbtest1 WHERE id=882
point_select: SELECT c FROM sbtest1 WHERE id=986
point_select: SELECT c FROM sbtest1 WHERE id=79
point_select: SELECT c FROM sbtest1 WHERE id=679
point_select: SELECT c FROM sbtest1 WHERE id=376
point_select: SELECT c FROM sbtest1 WHERE id=31
simple_range: SELECT c FROM sbtest3 WHERE id BETWEEN 667 AND 766
sum_range: SELECT SUM(k) FROM sbtest3 WHERE id BETWEEN 194 AND 293
order_range: SELECT c FROM sbtest2 WHERE id BETWEEN 571 AND 670 ORDER BY c
distinct_range: SELECT DISTINCT c FROM sbtest2 WHERE id BETWEEN 200 AND 299 ORDER BY c
commit: COMMIT
# event 3
begin: BEGIN
point_select: SELECT c FROM sbtest2 WHERE id=382
point_select: SELECT c FROM sbtest2 WHERE id=362
point_select: SELECT c FROM sbtest2 WHERE id=318
point_select: SELECT c FROM sbtest2 WHERE id=531
point_select: SELECT c FROM sbtest2 WHERE id=280
point_select: SELECT c FROM sbtest2 WHERE id=596
point_select: SELECT c FROM sbtest2 WHERE id=160
point_select: SELECT c FROM sbtest2 WHERE id=664
point_select: SELECT c FROM sbtest2 WHERE id=551
point_select: SELECT c FROM sbtest2 WHERE id=986
simple_range: SELECT c FROM sbtest1 WHERE id BETWEEN 507 AND 606
sum_range: SELECT SUM(k) FROM sbtest1 WHERE id BETWEEN 299 AND 398
order_range: SELECT c FROM sbtest1 WHERE id BETWEEN 677 AND 776 ORDER BY c
distinct_range: SELECT DISTINCT c FROM sbtest3 WHERE id BETWEEN 787 AND 886 ORDER BY c
commit: COMMIT
