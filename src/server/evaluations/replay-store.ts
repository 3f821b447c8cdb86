import type { Pool } from 'pg'
import type { RecordedCall, Recording } from '../tools/replay.ts'

/** Recorded results for the sessions of replays. */
export function replayStore(pool: Pool) {
  return {
    /** Returns the recording of a session; undefined for one that replays nothing, or whose case was deleted. */
    async recordingOf(sessionId: string): Promise<Recording | undefined> {
      const text = `
        select d.recorded from experiment_cases c join dataset_cases d on d.id = c.case_id
        where c.session_id = $1 and c.replay and d.recorded is not null`
      const [row] = (await pool.query<{ recorded: readonly RecordedCall[] }>(text, [sessionId])).rows
      if (!row) return undefined
      return {
        calls: row.recorded,
        onDiverged: async () => {
          await pool.query('update experiment_cases set diverged = true where session_id = $1 and not diverged', [
            sessionId,
          ])
        },
      }
    },
  }
}
