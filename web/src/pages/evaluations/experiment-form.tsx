import { Button, Checkbox, Group, Modal, NumberInput, Select, Stack, Text, TextInput } from '@mantine/core'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { Experiment } from '../../../../src/contract/experiments.ts'
import { client } from '../../data/client.ts'
import { formErrorOf } from '../../data/form-error.ts'
import { modelNames } from '../../data/lists.ts'
import { present } from '../../data/present.ts'
import { useSubmit } from '../../data/submit.ts'
import { AgentSelect } from '../../parts/agent-select.tsx'
import { ProblemLine } from '../../parts/page-state.tsx'
import { plainText } from '../../parts/safe-text.tsx'
import { datasetsQuery, evaluationsKey } from './queries.ts'

interface Props {
  /** Dataset that is chosen first. */
  readonly datasetId: string | undefined
  readonly onClose: () => void
  readonly onStarted: (experiment: Experiment) => void
}

interface Draft {
  readonly dataset_id: string | undefined
  readonly agent_id: string | undefined
  readonly agent_version: number | undefined
  readonly model: string | undefined
  readonly name: string
  readonly replay: boolean
  readonly max_parallel: number
  readonly max_budget_usd: number | undefined
}

const empty: Draft = {
  dataset_id: undefined,
  agent_id: undefined,
  agent_version: undefined,
  model: undefined,
  name: '',
  replay: false,
  max_parallel: 10,
  max_budget_usd: undefined,
}

const fields = [
  'dataset_id',
  'agent_id',
  'agent_version',
  'model',
  'name',
  'replay',
  'max_parallel',
  'max_budget_usd',
] as const

const numberOf = (value: number | string): number | undefined => (value === '' ? undefined : Number(value))

/** Chooses what runs on which dataset, and starts the experiment. */
export function ExperimentForm({ datasetId, onClose, onStarted }: Props) {
  const queries = useQueryClient()
  const [draft, setDraft] = useState<Draft>({ ...empty, dataset_id: datasetId })
  const set = (changes: Partial<Draft>) => setDraft(before => ({ ...before, ...changes }))
  const { data: datasets = [] } = useQuery(datasetsQuery)
  const { data: models = [] } = useQuery(modelNames)
  const { send, error, isRunning } = useSubmit(async () => {
    const { dataset_id = '', name, ...rest } = draft
    const body = present({ ...rest, dataset_id, name: name.trim() === '' ? undefined : name })
    const started = await client.experiments.create({ body })
    await queries.invalidateQueries({ queryKey: evaluationsKey })
    onStarted(started)
  })
  const { at, rest } = formErrorOf(error, fields)
  const isComplete = draft.dataset_id !== undefined && (draft.agent_id ?? draft.model) !== undefined
  return (
    <Modal opened onClose={onClose} size="lg" title="Run experiment">
      <form onSubmit={send}>
        <Stack gap="md">
          <Select
            label="Dataset"
            placeholder="Choose a dataset"
            data={datasets.map(({ id, name, cases }) => ({ value: id, label: `${plainText(name)} (${cases})` }))}
            value={draft.dataset_id ?? null}
            onChange={next => set({ dataset_id: next ?? undefined })}
            error={at('dataset_id')}
            nothingFoundMessage="No dataset has this name"
            searchable
            required
          />
          {datasets.length === 0 && (
            <Text size="sm" c="dimmed">
              There is no dataset. Create one with <code>switchyard datasets create</code>, and add cases from a file or
              a session.
            </Text>
          )}
          <AgentSelect
            label="Agent"
            description="Without an agent the model runs alone, without tools"
            value={draft.agent_id}
            onChange={agent_id => set({ agent_id, agent_version: undefined })}
            error={at('agent_id')}
          />
          {draft.agent_id !== undefined && (
            <NumberInput
              label="Version"
              description="Empty: the pinned version, else the current one"
              value={draft.agent_version ?? ''}
              onChange={version => set({ agent_version: numberOf(version) })}
              min={1}
              error={at('agent_version')}
            />
          )}
          <Select
            label="Model"
            placeholder={draft.agent_id === undefined ? 'Choose a model' : 'The model of the agent'}
            data={[...models]}
            value={draft.model ?? null}
            onChange={next => set({ model: next ?? undefined })}
            error={at('model')}
            searchable
            clearable
          />
          <TextInput
            label="Name"
            placeholder="Agent or model, and dataset"
            value={draft.name}
            onChange={({ currentTarget }) => set({ name: currentTarget.value })}
            error={at('name')}
          />
          <Group gap="md" grow align="start">
            <NumberInput
              label="Sessions at a time"
              value={draft.max_parallel}
              onChange={value => set({ max_parallel: Number(value) })}
              min={1}
              max={100}
              error={at('max_parallel')}
              required
            />
            <NumberInput
              label="Budget in USD"
              description="Empty: only the budgets of your key"
              value={draft.max_budget_usd ?? ''}
              onChange={value => set({ max_budget_usd: numberOf(value) })}
              min={0}
              decimalScale={4}
              error={at('max_budget_usd')}
            />
          </Group>
          <Checkbox
            label="Replay"
            description="Recorded results answer all tool calls; nothing but the model is called"
            checked={draft.replay}
            onChange={({ currentTarget }) => set({ replay: currentTarget.checked })}
            error={at('replay')}
          />
          <ProblemLine error={rest} />
          <Group justify="flex-end" gap="sm">
            <Button variant="default" onClick={onClose}>
              Cancel
            </Button>
            <Button type="submit" loading={isRunning} disabled={!isComplete}>
              Run experiment
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  )
}
