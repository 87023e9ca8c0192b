//! The rules of a policy, each as an entry: how a file comes into a database.

use crate::{Entry, Source};

use super::found::Found;
use super::mistakes::Mistakes;
use super::{canonical, document, events, group};

impl Entry {
    /// Every rule and group that a policy lists, in its order, each as an active entry; what else the policy says stays behind. Or every
    /// mistake; `file` is what it is called there.
    ///
    /// ```
    /// # use tollgate_policy::*;
    /// let entries = Entry::list("policy.yaml", "rules: [{name: search, path: /search, scope: endpoint, rate: 5/s, burst: 10}]")?;
    /// assert_eq!(entries[0].name, "search");
    /// assert_eq!(Entry::parse(&entries[0].text)?, (entries[0].name.clone(), entries[0].text.clone()));
    /// # Ok::<(), Mistakes>(())
    /// ```
    pub fn list(file: &str, text: &str) -> Result<Vec<Entry>, Mistakes> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut found = Found::default();
        let tree = events::read(text, &mut found);
        let typed = tree.as_ref().and_then(|root| document::read(root, &mut found));
        let (Some(root), Some(typed), true) = (&tree, typed, found.is_empty()) else {
            return Err(Mistakes::of_text(file, &Source::File, text, tree.as_ref(), found));
        };
        let named = document::listed(root).iter().zip(&typed.entries).map(|(node, entry)| {
            let name = match entry {
                group::Entry::Rule(typed) => &typed.rule.name,
                group::Entry::Group(group) => &group.name,
            };
            Entry { name: name.to_string(), text: canonical::write(node), is_active: true }
        });
        Ok(named.collect())
    }
}

#[cfg(test)]
mod tests {
    use crate::{Entry, Policy, Sources};

    const RULES: &str = "\
# A comment.
rules:
  - {name: user, scope: user, rate: 10/s, burst: 50}
  - group: tiers
    combine: first
    rules:
      - {name: pro, scope: user, plan: pro, rate: 20/s, burst: 100}
      - {name: free, scope: user, rate: 1/s, burst: 5}
  - {scope: global, rate: 1000/s, burst: 2000}
";

    #[test]
    fn entries_say_what_the_file_says() {
        let entries = Entry::list("p.yaml", RULES).unwrap();
        let names: Vec<&str> = entries.iter().map(|entry| entry.name.as_str()).collect();
        let policy = Policy::parse("p.yaml", RULES).unwrap();
        let last = &*policy.rules.last().unwrap().name;
        assert_eq!(names, ["user", "tiers", last]);
        let sources = Sources { file: None, entries: &entries, plain_rows: &[], ..Sources::default() };
        let composed = Policy::compose(&sources).unwrap().policy;
        let shown = |policy: &Policy| {
            let mut shown: Vec<String> =
                policy.rules.iter().map(|rule| format!("{} {:?}", rule.name, rule.action)).collect();
            shown.sort();
            shown
        };
        assert_eq!(shown(&composed), shown(&policy));
    }

    #[test]
    fn one_bare_rule_and_a_bare_list_are_lists_of_rules() {
        for text in
            ["{name: a, scope: ip, rate: 1/s, burst: 1}", "[{name: a, scope: ip, rate: 1/s, burst: 1}]"]
        {
            assert_eq!(Entry::list("p", text).unwrap().len(), 1, "{text}");
        }
    }

    #[test]
    fn mistakes_stand_where_they_are_in_the_file() {
        let mistakes =
            Entry::list("p.yaml", "rules:\n  - {name: a, scope: ip, rate: 1/s, burts: 1}\n").unwrap_err();
        assert!(mistakes.to_string().contains("p.yaml:2:"), "{mistakes}");
    }
}
