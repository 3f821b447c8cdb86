import { Button, Group, Stack, Text, Title } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import type { Schedule } from '../../../../src/contract/schedules.ts'
import { client } from '../../data/client.ts'
import { useAgentNames } from '../../data/names.ts'
import { useMayChange } from '../../data/sign-in.tsx'
import { CodeBlock } from '../../parts/code.tsx'
import { Confirm } from '../../parts/confirm.tsx'
import { Id } from '../../parts/copy.tsx'
import { CronWords } from '../../parts/cron-words.tsx'
import { Facts } from '../../parts/facts.tsx'
import { MayChange } from '../../parts/may-change.tsx'
import { Loading, ProblemBlock, ProblemLine } from '../../parts/page-state.tsx'
import { SafeText } from '../../parts/safe-text.tsx'
import { SidePanel } from '../../parts/side-panel.tsx'
import { StatePill } from '../../parts/state-pill.tsx'
import { TextLink } from '../../parts/text-link.tsx'
import { missedOptions, overlapOptions } from './choices.ts'
import { NextRuns, RunTimes } from './next-runs.tsx'
import { scheduleQuery, schedulesKey } from './queries.ts'
import { RunHistory } from './run-history.tsx'
import { scheduleState } from './run-state.ts'
import { ScheduleForm } from './schedule-form.tsx'

interface Props {
  readonly id: string
  readonly onClose: () => void
}

/** One schedule: when it runs next, what it does, and the history of its runs. */
export function SchedulePanel({ id, onClose }: Props) {
  const { data: schedule, error, refetch } = useQuery(scheduleQuery(id))
  if (!schedule) {
    return (
      <SidePanel title="Schedule" onClose={onClose}>
        {error ? <ProblemBlock error={error} what="load the schedule" retry={() => void refetch()} /> : <Loading />}
      </SidePanel>
    )
  }
  return (
    <SidePanel title={schedule.name} onClose={onClose}>
      <Stack gap="md">
        <Actions schedule={schedule} onDeleted={onClose} />
        <ScheduleFacts schedule={schedule} />
        <div>
          <Title order={3} mb="xs">
            Prompt
          </Title>
          <CodeBlock text={schedule.prompt} what="prompt" maxLines={8} />
        </div>
        {schedule.status === 'active' && <Upcoming schedule={schedule} />}
        <RunHistory scheduleId={schedule.id} />
      </Stack>
    </SidePanel>
  )
}

/** When it runs next. The service computes further times only for people who may change schedules. */
function Upcoming({ schedule: { cron, timezone, next_run_at: next } }: { readonly schedule: Schedule }) {
  const mayChange = useMayChange()
  return (
    <div>
      <Title order={3} mb="xs">
        {mayChange ? 'Next runs' : 'Next run'}
      </Title>
      {mayChange ? (
        <NextRuns cron={cron} timezone={timezone} />
      ) : (
        <RunTimes runs={next === null ? [] : [next]} timezone={timezone} />
      )}
    </div>
  )
}

function Actions({ schedule, onDeleted }: { readonly schedule: Schedule; readonly onDeleted: () => void }) {
  const queries = useQueryClient()
  const [isEditing, editing] = useDisclosure()
  const [isDeleting, deleting] = useDisclosure()
  const params = { schedule_id: schedule.id }
  const refresh = () => queries.invalidateQueries({ queryKey: schedulesKey })
  const run = useMutation({ mutationFn: () => client.schedules.trigger({ params }), onSettled: refresh })
  const isPaused = schedule.status === 'paused'
  const pause = useMutation({
    mutationFn: () => client.schedules.update({ params, body: { status: isPaused ? 'active' : 'paused' } }),
    onSettled: refresh,
  })
  const remove = async () => {
    await client.schedules.remove({ params })
    onDeleted()
    // Only the list: the deleted object is still open.
    await queries.invalidateQueries({ queryKey: [...schedulesKey, 'list'] })
  }
  return (
    <Stack gap="sm">
      <Group gap="sm">
        <StatePill {...scheduleState(schedule)} />
        <Id id={schedule.id} what="schedule id" />
      </Group>
      <MayChange>
        <Group gap="sm">
          <Button variant="default" onClick={() => run.mutate()} loading={run.isPending}>
            Run now
          </Button>
          <Button variant="default" onClick={() => pause.mutate()} loading={pause.isPending}>
            {isPaused ? 'Resume schedule' : 'Pause schedule'}
          </Button>
          <Button variant="default" onClick={editing.open}>
            Edit schedule
          </Button>
          <Button variant="default" onClick={deleting.open}>
            Delete schedule
          </Button>
        </Group>
      </MayChange>
      {run.data?.session_id && (
        <Text size="sm" role="status">
          Started.{' '}
          <TextLink to="/console/sessions/$sessionId" params={{ sessionId: run.data.session_id ?? '' }} search={{}}>
            Open the session
          </TextLink>
        </Text>
      )}
      <ProblemLine error={run.error ?? pause.error} />
      {isEditing && <ScheduleForm schedule={schedule} onClose={editing.close} onSaved={editing.close} />}
      <Confirm
        isOpen={isDeleting}
        onClose={deleting.close}
        question={`Delete schedule ${schedule.name}?`}
        consequence="Its history is deleted, too. The sessions of its runs stay readable."
        action="Delete schedule"
        run={remove}
      />
    </Stack>
  )
}

function ScheduleFacts({ schedule }: { readonly schedule: Schedule }) {
  const names = useAgentNames()
  const { cron, timezone, agent_id, session, session_id, overlap, missed, missed_limit, run_as_key_id } = schedule
  return (
    <Facts
      of={[
        ['When', <CronWords key="when" cron={cron} />],
        ['Cron, zone', <span key="cron" className="mono">{`${cron}  ${timezone}`}</span>],
        [
          'Agent',
          <TextLink key="agent" to="/console/agents/$agentId" params={{ agentId: agent_id }} search={{}}>
            <SafeText text={names.get(agent_id) ?? agent_id} />
          </TextLink>,
        ],
        ['Session', session === 'new' ? 'a new one for each run' : 'the same for all runs'],
        [
          'Continues',
          session_id !== null && (
            <TextLink to="/console/sessions/$sessionId" params={{ sessionId: session_id }} search={{}}>
              Open the session
            </TextLink>
          ),
        ],
        ['Still running', labelOf(overlapOptions, overlap)],
        ['Missed times', `${labelOf(missedOptions, missed)}${missed === 'all' ? `, at most ${missed_limit}` : ''}`],
        ['Key', run_as_key_id === null ? 'that of the agent' : <Id key="key" id={run_as_key_id} what="key id" />],
      ]}
    />
  )
}

const labelOf = (options: readonly { readonly value: string; readonly label: string }[], value: string): string =>
  options.find(option => option.value === value)?.label.toLowerCase() ?? value
