mod against_the_naive;
mod naive;
mod scenes;
