//! The live view: one thread looks at the server every second, another draws and hears keys.

use std::sync::Arc;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEventKind, KeyModifiers};

use super::EVERY;
use super::draw::{self, Frameable};
use super::sight::Sight;
use crate::admin::{AdminDoor, AdminError};
use crate::keys::By;
use crate::problem::Problem;
use crate::screen::{Ink, Screen};

/// How long a key is waited for before the screen is drawn again.
const HEARD_EVERY: Duration = Duration::from_millis(100);

/// What a key means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wish {
    End,
    Rank(By),
    Nothing,
}

/// Shows the server until `q`.
pub(super) fn run(door: AdminDoor, first: Sight, by: By, limit: u32) -> Result<(), Problem> {
    let (place, wanted) = (door.place(), Arc::new(Mutex::new(by)));
    let (tell, told) = channel();
    let looked_by = Arc::clone(&wanted);
    // Ends with the program, or when nobody listens.
    std::thread::spawn(move || look(&door, &looked_by, limit, &tell));
    let has_colour = Screen::of_stdout().ink == Ink::Coloured;
    let mut terminal = ratatui::try_init().map_err(Problem::Output)?;
    let shown = show(&mut terminal, &told, first, &place, &wanted, has_colour);
    ratatui::restore();
    shown.map_err(Problem::Output)
}

fn look(door: &AdminDoor, by: &Mutex<By>, limit: u32, tell: &Sender<Result<Sight, AdminError>>) {
    loop {
        door.wait(EVERY);
        let by = *by.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if tell.send(Sight::of(door, by, limit)).is_err() {
            return;
        }
    }
}

fn show(
    terminal: &mut DefaultTerminal,
    told: &Receiver<Result<Sight, AdminError>>,
    first: Sight,
    place: &str,
    wanted: &Mutex<By>,
    has_colour: bool,
) -> std::io::Result<()> {
    let (mut sight, mut fault) = (first, None);
    loop {
        for news in told.try_iter() {
            match news {
                Ok(news) => (sight, fault) = (news.since(&sight), None),
                Err(error) => fault = Some(error.to_string()),
            }
        }
        let by = *wanted.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let shown = Frameable { sight: &sight, place, by, fault: fault.as_deref(), has_colour };
        terminal.draw(|frame| draw::live(frame, &shown))?;
        if !event::poll(HEARD_EVERY)? {
            continue;
        }
        match wish(&event::read()?) {
            Wish::End => return Ok(()),
            Wish::Rank(by) => *wanted.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = by,
            Wish::Nothing => {}
        }
    }
}

fn wish(event: &Event) -> Wish {
    let Event::Key(key) = event else { return Wish::Nothing };
    if key.kind == KeyEventKind::Release {
        return Wish::Nothing;
    }
    let has_control = key.modifiers.contains(KeyModifiers::CONTROL);
    match key.code {
        KeyCode::Char('c' | 'd') if has_control => Wish::End,
        KeyCode::Char('q' | 'Q') | KeyCode::Esc => Wish::End,
        KeyCode::Char('a') => Wish::Rank(By::Admitted),
        KeyCode::Char('d') => Wish::Rank(By::Denied),
        KeyCode::Char('n') => Wish::Rank(By::Near),
        _ => Wish::Nothing,
    }
}

#[cfg(test)]
mod tests {
    use ratatui::crossterm::event::KeyEvent;

    use super::*;

    #[test]
    fn keys_mean_what_the_last_line_says() {
        let typed = |code, modifiers| wish(&Event::Key(KeyEvent::new(code, modifiers)));
        assert_eq!(typed(KeyCode::Char('q'), KeyModifiers::NONE), Wish::End);
        assert_eq!(typed(KeyCode::Char('c'), KeyModifiers::CONTROL), Wish::End);
        assert_eq!(typed(KeyCode::Char('d'), KeyModifiers::NONE), Wish::Rank(By::Denied));
        assert_eq!(typed(KeyCode::Char('x'), KeyModifiers::NONE), Wish::Nothing);
    }
}
