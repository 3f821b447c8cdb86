import { Button, Group, Select, Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { SessionSummary } from '../../../../../src/contract/session-summaries.ts'
import { modelNames } from '../../../data/lists.ts'
import { onceKey } from '../../../data/once-key.ts'
import { useSubmit } from '../../../data/submit.ts'
import { ProblemLine } from '../../../parts/page-state.tsx'
import { plainText } from '../../../parts/safe-text.tsx'
import { textOf } from '../../../session-log/tool-text.ts'
import type { Prompt } from '../../../session-log/view.ts'
import { versionsQuery } from '../queries.ts'
import { versionLabel } from '../version-label.ts'
import { rerunPrompt } from './rerun.ts'

interface Props {
  readonly session: SessionSummary
  /** Messages of the session, in their order. */
  readonly prompts: readonly Prompt[]
  readonly onClose: () => void
  readonly onStarted: (sessionId: string) => void
}

const labelOf = (prompt: Prompt, at: number): string => {
  const text = textOf(prompt.content).replace(/\s+/g, ' ').slice(0, 120)
  return plainText(`${at + 1}. ${text}`)
}

export function RerunFields({ session, prompts, onClose, onStarted }: Props) {
  const [promptId, setPromptId] = useState(prompts.at(-1)?.id ?? null)
  const [model, setModel] = useState(session.model)
  const [version, setVersion] = useState(session.agent_version)
  const { data: models = [] } = useQuery(modelNames)
  const versions = useQuery({ ...versionsQuery(session.agent_id), enabled: session.agent_id !== '' })
  const [key] = useState(onceKey)
  const prompt = prompts.find(({ id }) => id === promptId)
  const submit = useSubmit(async () => {
    if (!prompt || model === null) return
    const isOther = version !== null && version !== session.agent_version
    const id = await rerunPrompt({
      sessionId: session.id,
      prompt,
      model,
      version: isOther ? { agentId: session.agent_id, version } : undefined,
      title: titleOf(session, model, isOther ? version : undefined),
      // A changed form is another request.
      onceKey: [key, promptId, model, version].join('-').slice(0, 200),
    })
    onStarted(id)
  })
  if (prompts.length === 0) return <Text size="sm">The session has no prompt that could be run again.</Text>
  const modelChoices = session.model === null || models.includes(session.model) ? models : [session.model, ...models]
  return (
    <form onSubmit={submit.send}>
      <Stack gap="md">
        <Text size="sm">
          Creates a session with the conversation and the files before the prompt, and sends the prompt to it. This
          session does not change. A system prompt or an answer format that the prompt had is not sent again.
        </Text>
        <Select
          label="Prompt"
          data={prompts.map((each, at) => ({ value: each.id, label: labelOf(each, at) }))}
          value={promptId}
          onChange={setPromptId}
          data-autofocus
        />
        <Select label="Model" data={modelChoices} value={model} onChange={setModel} searchable required />
        {session.agent_id !== '' && versions.data && (
          <Select
            label="Version of the agent"
            data={versions.data.versions.map(({ version: number, note }) => ({
              value: String(number),
              label: versionLabel(number, note),
            }))}
            value={version === null ? null : String(version)}
            onChange={next => setVersion(next === null ? null : Number(next))}
            searchable
          />
        )}
        <ProblemLine error={submit.error ?? versions.error} />
        <Group justify="flex-end" gap="sm">
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button type="submit" loading={submit.isRunning} disabled={!prompt || model === null}>
            Re-run prompt
          </Button>
        </Group>
      </Stack>
    </form>
  )
}

function titleOf({ title }: SessionSummary, model: string, version: number | undefined): string {
  const on = version === undefined ? model : `${model}, version ${version}`
  return `${title === '' ? 'Untitled' : title.slice(0, 120)} (re-run on ${on})`
}
