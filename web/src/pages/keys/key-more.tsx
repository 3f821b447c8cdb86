import { MultiSelect, NumberInput, Stack, Switch, Textarea, TextInput } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import type { NativeProvider } from '../../../../src/contract/native.ts'
import { objectIn } from '../../data/json.ts'
import { mcpServersQuery } from '../../data/lists.ts'
import { dayOf } from './key-draft.ts'
import { amountOf, type FieldsProps } from './key-fields.ts'

const providers: readonly { readonly value: NativeProvider; readonly label: string }[] = [
  { value: 'anthropic', label: 'Anthropic' },
  { value: 'openai', label: 'OpenAI' },
  { value: 'gemini', label: 'Gemini' },
  { value: 'bedrock', label: 'Amazon Bedrock' },
]

/** Settings of a key that few need. */
export function MoreSettings({ draft, set, errorAt }: FieldsProps) {
  return (
    <Stack gap="md">
      <NumberInput
        label="Warn from"
        description="From this amount on, responses carry a warning"
        prefix="$"
        placeholder="no warning"
        min={0}
        decimalScale={6}
        hideControls
        value={draft.soft_budget}
        onChange={value => set({ soft_budget: amountOf(value) })}
        error={errorAt('soft_budget')}
      />
      <McpField draft={draft} set={set} errorAt={errorAt} />
      <MultiSelect
        label="Provider APIs"
        description="Providers whose own API the key may call below /<provider>/, beside model calls"
        placeholder={draft.passthrough.length === 0 ? 'none' : ''}
        data={providers.map(({ value, label }) => ({ value, label }))}
        value={[...draft.passthrough]}
        onChange={chosen =>
          set({ passthrough: providers.map(({ value }) => value).filter(value => chosen.includes(value)) })
        }
        error={errorAt('passthrough')}
      />
      <TextInput
        label="Cache responses for"
        description="Identical requests of the key get the stored answer: 30s, 10m, 1h, 1d. Empty: as the model is set"
        placeholder="off"
        value={draft.cache_ttl}
        onChange={({ currentTarget }) => set({ cache_ttl: currentTarget.value })}
        error={errorAt('cache')}
      />
      <TextInput
        label="Record bodies of calls until"
        description="Encrypted and redacted, at most 90 days from now. Empty: not recorded"
        type="date"
        min={dayOf(new Date())}
        value={draft.log_bodies_until}
        onChange={({ currentTarget }) => set({ log_bodies_until: currentTarget.value })}
        error={errorAt('log_bodies')}
      />
      <Textarea
        label="Metadata"
        description="A JSON object of your own"
        placeholder='{"team": "platform"}'
        autosize
        minRows={2}
        maxRows={8}
        classNames={{ input: 'mono' }}
        value={draft.metadata}
        onChange={({ currentTarget }) => set({ metadata: currentTarget.value })}
        error={errorAt('metadata') ?? (objectIn(draft.metadata) ? undefined : 'Metadata must be a JSON object')}
      />
    </Stack>
  )
}

function McpField({ draft, set, errorAt }: FieldsProps) {
  const { data: servers = [] } = useQuery(mcpServersQuery)
  const chosen = draft.mcp_servers
  const choices = [...new Set([...servers.map(({ server_name }) => server_name), ...(chosen ?? [])])]
  return (
    <Stack gap={8}>
      <Switch
        label="May use every MCP server"
        checked={chosen === null}
        onChange={({ currentTarget }) => set({ mcp_servers: currentTarget.checked ? null : [] })}
      />
      {chosen !== null && (
        <MultiSelect
          label="MCP servers"
          placeholder={chosen.length === 0 ? 'none' : ''}
          data={choices}
          value={[...chosen]}
          onChange={mcp_servers => set({ mcp_servers })}
          searchable
          error={errorAt('mcp_servers')}
        />
      )}
    </Stack>
  )
}
