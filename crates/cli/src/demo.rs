//! `tollgate demo`: rate limits at work, explained by running them.
//!
//! Promises that every figure shown comes from the real engine in virtual time: nothing sleeps, nothing is hard-coded. What is
//! [`live`] is the real service in real time.
//! The [`worked_example`] is a [`scenario`] played by [`replay`]; the other scenes are [`trial`]s of several algorithms.

mod arrivals;
mod flags;
mod live;
mod scenario;
mod scene;

mod contender;
mod replay;
mod trial;

mod burst;
mod double_window;
mod idle_reward;
mod worked_example;

mod amounts;
mod bars;
mod chart;
mod columns;
mod denial;
mod facts;
mod figure;
mod grid;
mod panels;
mod picture;
mod svg;
mod table;
mod ticks;

pub(crate) use flags::DemoFlags;

use crate::problem::Problem;
use crate::prose;
use crate::screen::{Ink, Screen};

use self::flags::Show;

/// All that `tollgate demo` says; the picture is written on the way.
pub(crate) fn page(flags: DemoFlags, screen: &Screen) -> Result<String, Problem> {
    if flags.live {
        return live::page(flags.open, screen);
    }
    let Show { scenes, scenario, svg } = flags.into_show().map_err(Problem::Usage)?;
    if let Some(path) = svg {
        let figures = scenes.iter().map(|scene| scene.figure(&scenario)).collect::<Result<Vec<_>, _>>()?;
        picture::write(&path, &svg::document(&figures))?;
    }
    let mut page = String::new();
    for scene in &scenes {
        page += &prose::rule(scene.title(), screen);
        page += "\n";
        page += &scene.page(&scenario, screen)?;
        page += "\n";
    }
    page += &next_steps(screen.ink);
    Ok(page)
}

fn next_steps(ink: Ink) -> String {
    let heading = ink.heading("Try also");
    format!(
        "{heading}\n  \
           tollgate demo --live                    the service, under traffic\n  \
           tollgate demo --svg demo.svg            the charts as a picture\n  \
           tollgate demo --scene burst             one scene alone; --help lists them\n  \
           tollgate demo --rate 2.5 --burst 5      the worked example with other figures\n"
    )
}
