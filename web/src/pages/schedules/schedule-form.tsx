import { Button, Group, Modal, NumberInput, Select, Stack, Text, Textarea, TextInput } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { Schedule, ScheduleCreate } from '../../../../src/contract/schedules.ts'
import { client } from '../../data/client.ts'
import { formErrorOf } from '../../data/form-error.ts'
import { problemOf } from '../../data/problem.ts'
import { useSubmit } from '../../data/submit.ts'
import { AgentSelect } from '../../parts/agent-select.tsx'
import { CronWords } from '../../parts/cron-words.tsx'
import { localZone } from '../../parts/day-range.ts'
import { ProblemLine } from '../../parts/page-state.tsx'
import { missedOptions, overlapOptions, presets, sessionOptions } from './choices.ts'
import { NextRuns } from './next-runs.tsx'
import { previewQuery, schedulesKey } from './queries.ts'
import { zones } from './zoned-time.ts'

interface Props {
  /** Schedule to edit; absent to create one. */
  readonly schedule?: Schedule
  /** Agent of a new schedule. */
  readonly agentId?: string | undefined
  readonly onClose: () => void
  readonly onSaved: (schedule: Schedule) => void
}

type Draft = Required<Omit<ScheduleCreate, 'status'>>

const draftOf = (schedule: Schedule | undefined, agentId: string | undefined): Draft => ({
  name: schedule?.name ?? '',
  agent_id: schedule?.agent_id ?? agentId ?? '',
  cron: schedule?.cron ?? '0 9 * * MON-FRI',
  timezone: schedule?.timezone ?? localZone,
  prompt: schedule?.prompt ?? '',
  session: schedule?.session ?? 'new',
  overlap: schedule?.overlap ?? 'skip',
  missed: schedule?.missed ?? 'once',
  missed_limit: schedule?.missed_limit ?? 10,
})

const fields = [
  'name',
  'agent_id',
  'agent',
  'cron',
  'timezone',
  'prompt',
  'session',
  'overlap',
  'missed',
  'missed_limit',
] as const

/** Creates or changes a schedule, and shows when it would run. */
export function ScheduleForm({ schedule, agentId, onClose, onSaved }: Props) {
  const queries = useQueryClient()
  const [draft, setDraft] = useState(() => draftOf(schedule, agentId))
  const set = (changes: Partial<Draft>) => setDraft(before => ({ ...before, ...changes }))
  const { send, error, isRunning } = useSubmit(async () => {
    const saved = schedule
      ? await client.schedules.update({ params: { schedule_id: schedule.id }, body: draft })
      : await client.schedules.create({ body: draft })
    await queries.invalidateQueries({ queryKey: schedulesKey })
    onSaved(saved)
  })
  const { at, rest } = formErrorOf(error, fields)
  return (
    <Modal opened onClose={onClose} size="lg" title={schedule ? `Edit ${schedule.name}` : 'Create schedule'}>
      <form onSubmit={send}>
        <Stack gap="md">
          <TextInput
            label="Name"
            description="Title of its sessions"
            placeholder="Morning report"
            value={draft.name}
            onChange={({ currentTarget }) => set({ name: currentTarget.value })}
            error={at('name')}
            required
            data-autofocus
          />
          <AgentSelect
            label="Agent"
            value={draft.agent_id || undefined}
            onChange={agent_id => set({ agent_id })}
            error={at('agent_id') ?? at('agent')}
          />
          <Textarea
            label="Prompt"
            value={draft.prompt}
            onChange={({ currentTarget }) => set({ prompt: currentTarget.value })}
            error={at('prompt')}
            autosize
            minRows={3}
            maxRows={12}
            required
          />
          <Timing draft={draft} set={set} cronError={at('cron')} zoneError={at('timezone')} />
          <Select
            label="Session"
            data={sessionOptions}
            value={draft.session}
            onChange={session => session && set({ session })}
            error={at('session')}
          />
          <Select
            label="When the previous run has not ended"
            data={overlapOptions}
            value={draft.overlap}
            onChange={overlap => overlap && set({ overlap })}
            error={at('overlap')}
          />
          <Select
            label="Runs that were due while no server ran"
            data={missedOptions}
            value={draft.missed}
            onChange={missed => missed && set({ missed })}
            error={at('missed')}
          />
          {draft.missed === 'all' && (
            <NumberInput
              label="At most"
              description="Missed runs that run afterwards, the last ones first"
              value={draft.missed_limit}
              onChange={limit => set({ missed_limit: Number(limit) })}
              min={1}
              max={100}
              error={at('missed_limit')}
            />
          )}
          <ProblemLine error={rest} />
          <Group justify="flex-end" gap="sm">
            <Button variant="default" onClick={onClose}>
              Cancel
            </Button>
            <Button type="submit" loading={isRunning} disabled={draft.agent_id === ''}>
              {schedule ? 'Save schedule' : 'Create schedule'}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  )
}

interface TimingProps {
  readonly draft: Draft
  readonly set: (changes: Partial<Draft>) => void
  readonly cronError: string | undefined
  readonly zoneError: string | undefined
}

const debounceMs = 300

function Timing({ draft, set, cronError, zoneError }: TimingProps) {
  const [cron] = useDebouncedValue(draft.cron.trim(), debounceMs)
  const { error } = useQuery(previewQuery(cron, draft.timezone))
  const problem = error ? problemOf(error).message : undefined
  const isOfCron = problem?.startsWith('cron') === true
  return (
    <>
      <Select
        label="Start from"
        placeholder="A common pattern"
        data={presets}
        value={presets.find(({ value }) => value === draft.cron)?.value ?? null}
        onChange={preset => preset && set({ cron: preset })}
      />
      <TextInput
        label="Cron expression"
        description="Minute, hour, day of the month, month, day of the week"
        value={draft.cron}
        onChange={({ currentTarget }) => set({ cron: currentTarget.value })}
        error={cronError ?? (isOfCron ? problem : undefined)}
        classNames={{ input: 'mono' }}
        spellCheck={false}
        required
      />
      <Select
        label="Time zone"
        data={zones}
        value={draft.timezone}
        onChange={timezone => timezone && set({ timezone })}
        error={zoneError}
        searchable
        limit={50}
      />
      {!isOfCron && cron !== '' && (
        <div>
          <Text size="sm" fw={600} mb="xs">
            <CronWords cron={cron} />
          </Text>
          <NextRuns cron={cron} timezone={draft.timezone} />
        </div>
      )}
    </>
  )
}
