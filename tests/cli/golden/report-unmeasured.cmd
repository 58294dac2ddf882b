sed '/"improved": false/,$ { s/"before": [0-9]*, "after": null/"before": null, "after": null/
s/"after": null,$/"after": "struc(...)",/; s/"why": .*/"why": "there was no other form of the type to be measured",/ }
s/"left_not_better"/"left_one_node"/; s/"plan_no_faster"/"plan_no_variant"/' "$data/run-a.json" >file
espalier report file | grep -A4 '^  2\.\|^Why'
