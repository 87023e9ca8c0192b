//! `tollgate demo --live`: the service at work, with clients of every kind, so that there is something to look at.
//!
//! Promises that nothing is left behind: policy and records are in a folder that goes away with the demo. Settings of the
//! environment do not count. The traffic goes over real connections to the service's own door.

mod browser;
mod cast;
mod client;
mod doors;
mod folder;
mod line;
mod tally;
mod traffic;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::mpsc;
use std::time::Duration;

use tollgate_records::{Author, NewToken, RecordsUrl, Role, Timestamp};
use tollgate_server::{LogForm, ServeError, Settings, begin_logs, healthcheck, resolve, serve};

use crate::problem::Problem;
use crate::records_place::with_records;
use crate::screen::{self, Ink, Screen};

use self::doors::Doors;
use self::folder::Folder;
use self::tally::Tally;
use self::traffic::Traffic;

/// What the demo limits, and whom.
const POLICY: &str = include_str!("live/policy.yaml");
/// How long open requests may take when the demo is to end.
const GRACE: &str = "2s";
/// How often ports are looked for.
const TRIES_MAX: u32 = 5;
/// How often the doors are looked at until they are open.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Runs the service and its clients until the program is told to end; then what became of them.
pub(crate) fn page(opens_browser: bool, screen: &Screen) -> Result<String, Problem> {
    let folder = Folder::new()?;
    folder.write("policy.yaml", POLICY)?;
    let token = token(&folder)?;
    begin_logs(LogForm::Text, &[]);
    let began = Timestamp::now();
    let mut tries = 1;
    let tally = loop {
        match run(&folder, &token, opens_browser, screen.ink) {
            // Somebody took a port between our look at it and the door's opening.
            Err(Problem::Serve(ServeError::Bind(_))) if tries < TRIES_MAX => tries += 1,
            result => break result?,
        }
    };
    let seconds = Timestamp::now().unix_seconds() - began.unix_seconds();
    Ok(tally.summary(u64::try_from(seconds).unwrap_or(0), screen.ink))
}

/// Once, with the ports that are free now.
fn run(folder: &Folder, token: &str, opens_browser: bool, ink: Ink) -> Result<Tally, Problem> {
    let doors = Doors::find().map_err(Problem::Output)?;
    let settings = settings(folder, &doors)?;
    let greeting = greeting(&doors, token, ink);
    let address = opens_browser.then(|| doors.page(token));
    let (end, ended) = mpsc::channel::<()>();
    let clients = std::thread::spawn({
        let settings = settings.clone();
        move || meet(&settings, &greeting, address.as_deref(), &ended)
    });
    let served = serve(&settings).map_err(Problem::Serve);
    drop(end);
    let tally = clients.join().unwrap_or_default();
    served.map(|()| tally)
}

/// What the service is told. The environment is not asked: a demo has nothing to do with anybody's database.
fn settings(folder: &Folder, doors: &Doors) -> Result<Settings, Problem> {
    let flags = [
        ("policy", folder.path("policy.yaml")),
        ("records", records(folder)),
        ("http", doors.http.address.clone()),
        ("resp", doors.resp.address.clone()),
        ("admin", doors.admin.address.clone()),
        ("playground", "open".to_owned()),
        ("grace", GRACE.to_owned()),
    ];
    Ok(resolve(&flags, &BTreeMap::new())?.settings()?)
}

/// Where the records of this run are.
fn records(folder: &Folder) -> String {
    format!("sqlite:{}", folder.path("tollgate.db"))
}

/// A token of this run, whose holder may do everything at the admin door.
fn token(folder: &Folder) -> Result<String, Problem> {
    let url = RecordsUrl::parse(&records(folder)).map_err(|error| Problem::Nothing(error.to_string()))?;
    let new = NewToken { name: "demo".to_owned(), role: Role::Admin, expires_at: None };
    let made =
        with_records(&url, async |records| records.create_token(&new, &Author::new("tollgate demo")).await);
    made.map(|(secret, _)| secret.reveal().to_owned())
}

/// Waits for the doors, says where the page is, and sends clients until it is told to end.
fn meet(settings: &Settings, greeting: &str, address: Option<&str>, ended: &mpsc::Receiver<()>) -> Tally {
    while healthcheck(settings).is_err() {
        if ended.recv_timeout(LOOK_EVERY) == Err(mpsc::RecvTimeoutError::Disconnected) {
            return Tally::default();
        }
    }
    let traffic = Traffic::begin(&settings.http.to_string());
    // Whoever does not read it has the page all the same.
    let _ = screen::show_more(greeting);
    if let Some(address) = address
        && !browser::open(address)
    {
        let _ = screen::show_more("No browser could be started; open the page's address in one.\n");
    }
    // Nobody sends: it returns when the service has ended.
    let _ = ended.recv();
    traffic.end()
}

fn greeting(doors: &Doors, token: &str, ink: Ink) -> String {
    let mut text = String::from("\n");
    for moved in doors.moved() {
        let _ = writeln!(text, "{moved}");
    }
    let admin = &doors.admin.address;
    let _ = writeln!(text, "{}  {}", ink.heading("The dashboard:"), doors.page(token));
    let _ = write!(
        text,
        "\nWho is there: {}.\n\n{}\n  \
           curl -i -d '{{\"user\": \"ann\", \"path\": \"/api/search\"}}' http://{}/v1/check\n  \
           export TOLLGATE_ADMIN_URL=http://{admin} TOLLGATE_ADMIN_TOKEN={token}\n  \
           tollgate top\n  \
           tollgate keys block {} --reason 'demo' --for 1m\n  \
           tollgate violations --follow\n\n\
         Ctrl-C ends it; nothing is left behind.\n",
        cast::IN_WORDS,
        ink.heading("Try also, in another terminal"),
        doors.http.address,
        cast::SCRAPER,
    );
    text
}
