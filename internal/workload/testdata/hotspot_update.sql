# event 1
begin: BEGIN
hotspot_update: UPDATE sbtest1 SET k=k+1 WHERE id=100
commit: COMMIT
# event 2
begin: BEGIN
hotspot_update: UPDATE sbtest1 SET k=k+1 WHERE id=100
commit: COMMIT
# event 3
begin: BEGIN
hotspot_update: UPDATE sbtest1 SET k=k+1 WHERE id=100
commit: COMMIT
