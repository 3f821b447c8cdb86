import { Button, Group, Text, Title } from '@mantine/core'
import { useInfiniteQuery } from '@tanstack/react-query'
import type { ScheduleRun } from '../../../../src/contract/schedules.ts'
import { useAddress } from '../../parts/address.ts'
import { Time } from '../../parts/figures.tsx'
import { ChoiceFilter } from '../../parts/filters.tsx'
import { duration } from '../../parts/format.ts'
import { Loading, ProblemLine } from '../../parts/page-state.tsx'
import { SafeText } from '../../parts/safe-text.tsx'
import { StatePill } from '../../parts/state-pill.tsx'
import { TextLink } from '../../parts/text-link.tsx'
import { runsQuery } from './queries.ts'
import { causes, runStates } from './run-state.ts'
import css from './schedules.module.css'

const states = Object.keys(runStates) as ScheduleRun['state'][]

/** What came of each time: runs, failures, and times that were missed or skipped, with the reason. */
export function RunHistory({ scheduleId }: { readonly scheduleId: string }) {
  const [{ state: named }, setAddress] = useAddress<'state'>()
  const state = states.find(each => each === named)
  const { data, error, hasNextPage, fetchNextPage, isFetchingNextPage } = useInfiniteQuery(runsQuery(scheduleId, state))
  const runs = data?.pages.flatMap(page => page.runs)
  return (
    <section aria-label="History">
      <Group justify="space-between" mb="xs">
        <Title order={3}>History</Title>
        <ChoiceFilter
          label="State of the run"
          value={state}
          options={states.map(value => ({ value, label: runStates[value].word }))}
          onChange={next => setAddress({ state: next })}
        />
      </Group>
      <ProblemLine error={error} />
      {!runs && !error && <Loading lines={3} />}
      {runs?.length === 0 && (
        <Text size="sm" c="dimmed">
          {state === undefined ? 'It has not been due yet.' : 'No run has this state.'}
        </Text>
      )}
      <ul className={css.runs}>
        {runs?.map(run => (
          <Run key={run.id} run={run} />
        ))}
      </ul>
      {hasNextPage && (
        <Button variant="subtle" onClick={() => void fetchNextPage()} loading={isFetchingNextPage}>
          Show older runs
        </Button>
      )}
    </section>
  )
}

function Run({ run }: { readonly run: ScheduleRun }) {
  const { state, cause, due_at, ended_at, session_id, reason, created_at } = run
  return (
    <li className={css.run}>
      <div className={css.line}>
        <StatePill {...runStates[state]} />
        <Time at={due_at} />
        <span className="soft">{causes[cause]}</span>
        {ended_at !== null && (
          <span className="soft numbers">{duration(Date.parse(ended_at) - Date.parse(created_at))}</span>
        )}
        {session_id !== null ? (
          <TextLink to="/console/sessions/$sessionId" params={{ sessionId: session_id }} search={{}}>
            Open session
          </TextLink>
        ) : (
          <span />
        )}
      </div>
      {reason !== null && (
        <div className={css.reason}>
          <SafeText text={reason} />
        </div>
      )}
    </li>
  )
}
