import { Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Time } from '../../parts/figures.tsx'
import { Loading, ProblemLine } from '../../parts/page-state.tsx'
import { previewQuery } from './queries.ts'
import css from './schedules.module.css'
import { zonedTime } from './zoned-time.ts'

interface Props {
  readonly cron: string
  readonly timezone: string
}

/** The next five times of a pattern, in its zone. */
export function NextRuns({ cron, timezone }: Props) {
  const { data, error } = useQuery(previewQuery(cron, timezone))
  if (error) return <ProblemLine error={error} />
  if (!data) return <Loading lines={3} />
  return <RunTimes runs={data.runs} timezone={timezone} />
}

/** Times of runs in the zone of their schedule. */
export function RunTimes({ runs, timezone }: { readonly runs: readonly string[]; readonly timezone: string }) {
  if (runs.length === 0) {
    return (
      <Text size="sm" c="dimmed">
        This pattern never fires again.
      </Text>
    )
  }
  return (
    <ol className={css.times}>
      {runs.map(run => (
        <li key={run}>
          <span className="numbers">{zonedTime(run, timezone)}</span>
          <span className="soft">
            <Time at={run} />
          </span>
        </li>
      ))}
    </ol>
  )
}
