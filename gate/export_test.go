package gate

const PlanEffect = planEffect

var Subset = subset
