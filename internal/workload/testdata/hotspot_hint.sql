# event 1
hotspot_update: UPDATE /*+ commit_on_success target_affect_row(1) why? */ sbtest1 SET k=k+1 WHERE id=7
