package sqlreplay

import (
	"context"
)

// Sweep forgets the ids that expired longer ago than [WithMargin], an hour, by the database's clock. Call it every few
// minutes from one process or from all; without it the table only grows. Before it deletes, it moves the horizon, which the
// database keeps, over what it is going to delete: a use that expires no later than something forgotten is
// [requeststate.ErrStale] from then on, whatever any clock says. It works in batches and stops early, with ctx's error in
// [requeststate.ErrUnavailable], when ctx ends.
func (s *Store) Sweep(ctx context.Context) error {
	until, err := s.cutoff(ctx)
	if err != nil {
		return unavailable(err)
	}
	for {
		raised, err := s.db.ExecContext(ctx, s.sql.raise, until)
		if err != nil {
			return unavailable(err)
		}
		// All below the horizon may go, at any time. Some may be left by a sweep that was interrupted.
		if _, err := s.db.ExecContext(ctx, s.sql.forget); err != nil {
			return unavailable(err)
		}
		if n, err := raised.RowsAffected(); err != nil || n == 0 {
			return unavailable(err)
		}
	}
}

// cutoff is the latest expiry, in Unix seconds, that may be forgotten.
func (s *Store) cutoff(ctx context.Context) (int64, error) {
	var now int64
	if s.now != nil {
		now = s.now().Unix()
	} else if err := s.db.QueryRowContext(ctx, s.sql.now).Scan(&now); err != nil {
		return 0, err
	}
	return now - int64(s.margin.Seconds()), nil
}
