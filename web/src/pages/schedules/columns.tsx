import type { ListedSchedule } from '../../../../src/contract/schedules.ts'
import { CronWords } from '../../parts/cron-words.tsx'
import type { Column } from '../../parts/data-table.tsx'
import { Time } from '../../parts/figures.tsx'
import { SafeText } from '../../parts/safe-text.tsx'
import { StatePill } from '../../parts/state-pill.tsx'
import { runStates, scheduleState } from './run-state.ts'
import css from './schedules.module.css'

interface Options {
  readonly nameOfAgent: (id: string) => string
  readonly isBesidePanel: boolean
}

/** Columns of the list; beside an open schedule only those that fit. */
export const columnsFor = ({ nameOfAgent, isBesidePanel }: Options): readonly Column<ListedSchedule>[] =>
  all(nameOfAgent).filter(({ key }) => !isBesidePanel || !leftOut.has(key))

const leftOut: ReadonlySet<string> = new Set(['agent', 'state'])

const all = (nameOfAgent: Options['nameOfAgent']): readonly Column<ListedSchedule>[] => [
  {
    key: 'name',
    title: 'Schedule',
    width: 'minmax(140px, 1.5fr)',
    cell: ({ name }) => <SafeText text={name} />,
  },
  {
    key: 'when',
    title: 'When',
    width: 'minmax(180px, 2fr)',
    isNarrow: false,
    cell: ({ cron, timezone }) => (
      <>
        <CronWords cron={cron} /> <span className="soft">{timezone}</span>
      </>
    ),
  },
  {
    key: 'agent',
    title: 'Agent',
    width: 'minmax(100px, 1fr)',
    isNarrow: false,
    cell: ({ agent_id }) => <SafeText text={nameOfAgent(agent_id)} />,
  },
  {
    key: 'state',
    title: 'State',
    width: '110px',
    isNarrow: false,
    cell: schedule => <StatePill {...scheduleState(schedule)} />,
  },
  {
    key: 'last',
    title: 'Last run',
    width: 'minmax(130px, 1fr)',
    cell: ({ last_run }) =>
      last_run ? (
        <span className={css.pair}>
          <StatePill {...runStates[last_run.state]} />
          <span className={`soft ${css.wide}`}>
            <Time at={last_run.due_at} />
          </span>
        </span>
      ) : (
        <span className="soft">none yet</span>
      ),
  },
  {
    key: 'next',
    title: 'Next run',
    width: '90px',
    align: 'end',
    cell: ({ next_run_at, status }) => <Time at={next_run_at} absent={status === 'paused' ? 'paused' : 'never'} />,
  },
]
