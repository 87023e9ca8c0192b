//! Standing orders: block, allow, override, kill switch, mode. Given with a reason, until a date or until revoked.

/// The columns of an order, as [`OrderRecord::read`] reads them.
macro_rules! order_columns {
    () => {
        "order_id, kind, rule, who_kind, who, rate, burst, mode, reason, author, created_at, expires_at, revoked_at, revoked_by"
    };
}

mod order;
mod order_record;

pub use order_record::{OrderMistake, OrderRecord};

use tollgate_policy::{ORDERS_STANDING_MAX, Order};

use crate::audit::{self, AuditNote};
use crate::limits;
use crate::session::Session;
use crate::{Author, ORDERS_KEPT_MAX, REASON_BYTES_MAX, Records, RecordsError, Timestamp};

/// An order to be given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewOrder {
    /// What is ordered.
    pub order: Order,
    /// Why.
    pub reason: String,
    /// When it ends by itself; `None` is never.
    pub expires_at: Option<Timestamp>,
}

impl Records {
    /// Orders, newest first, at most [`PAGE_MAX`](crate::PAGE_MAX): those that stand, or with those that ended all that there ever were.
    /// Those after a page are found with the last number of it as cursor.
    pub async fn orders_page(
        &self,
        include_past: bool,
        cursor: Option<i64>,
        limit: usize,
    ) -> Result<Vec<OrderRecord>, RecordsError> {
        self.within(async {
            let mut session = self.read().await?;
            let page = concat!(
                "SELECT ",
                order_columns!(),
                " FROM tollgate_orders WHERE order_id < $1 AND ($2 = 1 OR (revoked_at IS NULL \
                 AND (expires_at IS NULL OR expires_at > $3))) ORDER BY order_id DESC LIMIT $4"
            );
            let values = &[
                cursor.unwrap_or(i64::MAX).into(),
                i64::from(include_past).into(),
                Timestamp::now().into(),
                limits::page(limit).into(),
            ];
            session.rows(page, values).await?.iter().map(OrderRecord::read).collect()
        })
        .await
    }

    /// The orders that stand, oldest first; with those that ended, all that there ever were, newest [`PAGE_MAX`](crate::PAGE_MAX) first.
    pub async fn orders(&self, include_past: bool) -> Result<Vec<OrderRecord>, RecordsError> {
        self.within(async {
            let mut session = self.read().await?;
            let rows = if include_past {
                let all = concat!(
                    "SELECT ",
                    order_columns!(),
                    " FROM tollgate_orders ORDER BY order_id DESC LIMIT $1"
                );
                session.rows(all, &[limits::page(usize::MAX).into()]).await?
            } else {
                let standing = concat!(
                    "SELECT ",
                    order_columns!(),
                    " FROM tollgate_orders WHERE revoked_at IS NULL \
                     AND (expires_at IS NULL OR expires_at > $1) ORDER BY order_id"
                );
                session.rows(standing, &[Timestamp::now().into()]).await?
            };
            rows.iter().map(OrderRecord::read).collect()
        })
        .await
    }

    /// Gives an order. Whether its rule exists is for the caller to know.
    pub async fn give_order(&self, new: &NewOrder, author: &Author) -> Result<OrderRecord, RecordsError> {
        let written = order::columns(&new.order)?;
        limits::text("reason", &new.reason, REASON_BYTES_MAX)?;
        author.check()?;
        let now = Timestamp::now();
        if let Some(expires_at) = new.expires_at.filter(|expires_at| *expires_at <= now) {
            let why = format!("is {expires_at}, which is over; write a time to come, or leave it out");
            return Err(RecordsError::Invalid { field: "expires_at", why });
        }
        self.within(async {
            let mut session = self.write().await?;
            session.take_turn().await?;
            limits::count("orders", standing(&mut session, now).await? + 1, ORDERS_STANDING_MAX)?;
            let row = session
                .row(
                    concat!(
                        "INSERT INTO tollgate_orders (kind, rule, who_kind, who, rate, burst, mode, reason, author, created_at, \
                         expires_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) RETURNING ",
                        order_columns!()
                    ),
                    &[
                        written.kind.into(),
                        written.rule.into(),
                        written.who_kind.into(),
                        (&written.who).into(),
                        written.rate.into(),
                        written.burst.into(),
                        written.mode.into(),
                        (&new.reason).into(),
                        (&author.name).into(),
                        now.into(),
                        new.expires_at.into(),
                    ],
                )
                .await?;
            let record = row.as_ref().map(OrderRecord::read).transpose()?;
            let record = record.ok_or_else(|| RecordsError::NotFound { what: "order that was given".to_owned() })?;
            let forget = "DELETE FROM tollgate_orders WHERE order_id <= $1 AND (revoked_at IS NOT NULL OR expires_at <= $2)";
            session.execute(forget, &[(record.order_id - ORDERS_KEPT_MAX).into(), now.into()]).await?;
            let note = AuditNote {
                action: "order.give",
                target: &format!("order {}", record.order_id),
                after: Some(&record.to_json()),
                reason: Some(&new.reason),
                ..AuditNote::default()
            };
            audit::write(&mut session, &note, author).await?;
            self.commit(session).await?;
            Ok(record)
        })
        .await
    }

    /// Ends an order that stands.
    pub async fn revoke_order(
        &self,
        order_id: i64,
        author: &Author,
        reason: &str,
    ) -> Result<OrderRecord, RecordsError> {
        author.check()?;
        limits::text("reason", reason, REASON_BYTES_MAX)?;
        self.within(async {
            let mut session = self.write().await?;
            session.take_turn().await?;
            let row = session
                .row(
                    concat!(
                        "UPDATE tollgate_orders SET revoked_at = $1, revoked_by = $2 WHERE order_id = $3 AND revoked_at IS NULL \
                         AND (expires_at IS NULL OR expires_at > $1) RETURNING ",
                        order_columns!()
                    ),
                    &[Timestamp::now().into(), (&author.name).into(), order_id.into()],
                )
                .await?;
            let Some(row) = row else {
                return Err(RecordsError::NotFound { what: format!("order {order_id} that stands") });
            };
            let record = OrderRecord::read(&row)?;
            let before = OrderRecord { revoked_at: None, revoked_by: None, ..record.clone() };
            let note = AuditNote {
                action: "order.revoke",
                target: &format!("order {order_id}"),
                before: Some(&before.to_json()),
                after: Some(&record.to_json()),
                reason: Some(reason),
            };
            audit::write(&mut session, &note, author).await?;
            self.commit(session).await?;
            Ok(record)
        })
        .await
    }
}

async fn standing(session: &mut Session, now: Timestamp) -> Result<usize, RecordsError> {
    let count = "SELECT COUNT(*) AS orders FROM tollgate_orders WHERE revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $1)";
    let orders: i64 = session.row(count, &[now.into()]).await?.map_or(Ok(0), |row| row.get("orders"))?;
    Ok(usize::try_from(orders).unwrap_or(0))
}
