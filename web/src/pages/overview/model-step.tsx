import { Button, Group, PasswordInput, Select, Stack, Text } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { client } from '../../data/client.ts'
import { modelNames } from '../../data/lists.ts'
import { useIsAdmin } from '../../data/sign-in.tsx'
import { ProblemLine } from '../../parts/page-state.tsx'
import { StatePill } from '../../parts/state-pill.tsx'

interface Props {
  /** Called with the model for the first agent. */
  readonly onDone: (model: string) => void
}

const demo = 'demo'
/** Providers that one key connects, the most common first. */
const common = ['anthropic', 'openai', 'gemini', 'openrouter', 'mistral', 'groq', 'deepseek', 'xai']

/** Connects a provider by its key and tests it, or chooses the scripted model. */
export function ModelStep({ onDone }: Props) {
  const queries = useQueryClient()
  const isAdmin = useIsAdmin()
  const [provider, setProvider] = useState('anthropic')
  const [key, setKey] = useState('')
  const providers = useQuery({ queryKey: ['providers'], queryFn: () => client.providers.list(), enabled: isAdmin })
  const connect = useMutation({
    mutationFn: async () => {
      await client.providers.set({ params: { provider_id: provider }, body: { api_key: key.trim() } })
      return client.providers.test({ params: { provider_id: provider } })
    },
    onSuccess: async ({ ok }) => {
      if (!ok) return
      setKey('')
      await queries.invalidateQueries({ queryKey: modelNames.queryKey })
      const { data } = await client.models.list()
      onDone(data.find(({ owned_by, id }) => owned_by === provider || id.startsWith(`${provider}/`))?.id ?? demo)
    },
  })
  const known = (providers.data?.providers ?? []).map(({ id, name }) => ({ value: id, label: name }))
  const choices = known.toSorted((a, b) => rank(a.value) - rank(b.value))
  const rejected = connect.data?.ok === false ? connect.data.error : undefined

  const submit = (event: FormEvent) => {
    event.preventDefault()
    connect.mutate()
  }
  return (
    <Stack gap="sm" mt="sm">
      <Text size="sm">
        Agents call models through this service. Paste a key of a provider, or start with the demo model, which gives
        scripted answers and costs nothing.
      </Text>
      {isAdmin && (
        <form onSubmit={submit}>
          <Stack gap="sm">
            <Select
              label="Provider"
              data={choices}
              value={provider}
              onChange={value => setProvider(value ?? provider)}
              searchable
            />
            <PasswordInput
              label="API key of the provider"
              description="Stored encrypted; only a test and your calls use it"
              value={key}
              onChange={({ currentTarget }) => setKey(currentTarget.value)}
              autoComplete="off"
              error={rejected}
            />
            <ProblemLine error={connect.error} />
            {connect.data?.ok && <StatePill state="done" word={`Key accepted in ${connect.data.latency_ms} ms`} />}
            <Group>
              <Button type="submit" disabled={key.trim() === ''} loading={connect.isPending}>
                Connect provider
              </Button>
              <DemoButton onDone={onDone} />
            </Group>
          </Stack>
        </form>
      )}
      {!isAdmin && <DemoButton onDone={onDone} />}
    </Stack>
  )
}

function DemoButton({ onDone }: Props) {
  return (
    <Button variant="default" onClick={() => onDone(demo)}>
      Use the demo model (scripted answers)
    </Button>
  )
}

function rank(id: string): number {
  const at = common.indexOf(id)
  return at === -1 ? common.length : at
}
