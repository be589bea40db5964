"""Questions: each person answers one, drawn without a look at their record, through a channel of ratio gamma."""
