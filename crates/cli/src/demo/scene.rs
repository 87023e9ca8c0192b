//! The scenes of the demo, in the order in which they tell their story.
//!
//! Each has a name to ask for, words for the terminal and a figure; what it plays stands in a file of its own.

use clap::ValueEnum;

use crate::problem::Problem;
use crate::screen::Screen;

use super::figure::Figure;
use super::scenario::Scenario;
use super::{burst, double_window, idle_reward, worked_example};

/// What may be shown. The names are those of `--scene`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Scene {
    /// One client empties a token bucket
    WorkedExample,
    /// Twice the quota around the end of a window
    DoubleWindow,
    /// What waiting is worth
    IdleReward,
    /// A hundred requests at once, then a steady stream
    Burst,
}

impl Scene {
    pub(crate) const ALL: [Scene; 4] =
        [Scene::WorkedExample, Scene::DoubleWindow, Scene::IdleReward, Scene::Burst];

    /// The words, tables and charts for a terminal. `scenario` is that of the worked example.
    pub(crate) fn page(self, scenario: &Scenario, screen: &Screen) -> Result<String, Problem> {
        match self {
            Scene::WorkedExample => worked_example::page(scenario, screen),
            Scene::DoubleWindow => double_window::page(screen),
            Scene::IdleReward => idle_reward::page(screen),
            Scene::Burst => burst::page(screen),
        }
    }

    /// The chart for a picture.
    pub(crate) fn figure(self, scenario: &Scenario) -> Result<Figure, Problem> {
        match self {
            Scene::WorkedExample => worked_example::figure(scenario),
            Scene::DoubleWindow => double_window::figure(),
            Scene::IdleReward => idle_reward::figure(),
            Scene::Burst => burst::figure(),
        }
    }

    /// Its title in every medium.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Scene::WorkedExample => worked_example::TITLE,
            Scene::DoubleWindow => double_window::TITLE,
            Scene::IdleReward => idle_reward::TITLE,
            Scene::Burst => burst::TITLE,
        }
    }
}
