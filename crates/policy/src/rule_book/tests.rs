mod against_the_naive;
mod hostile_values;
mod naive;
mod naive_values;
mod path_spellings;
mod scenes;
mod spellings;
