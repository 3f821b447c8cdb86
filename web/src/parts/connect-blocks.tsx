import { Stack, Tabs, Text } from '@mantine/core'
import { CodeBlock } from './code.tsx'
import { type ConnectText, mcpClients, modelClients } from './connect-texts.ts'

interface ModelProps {
  /** Model that the clients use first. */
  readonly model: string
  /** A key that is being shown once; otherwise the blocks have a placeholder. */
  readonly apiKey?: string | undefined
}

/** Copy blocks that connect clients to the models of this service. */
export function ConnectModels({ model, apiKey }: ModelProps) {
  return <Blocks texts={modelClients({ address: window.location.origin, model, apiKey })} />
}

interface McpProps {
  readonly name: string
  readonly path: string
}

/** Copy blocks that connect clients to an MCP server of this service. */
export function ConnectMcp({ name, path }: McpProps) {
  return <Blocks texts={mcpClients({ address: window.location.origin, name, path })} />
}

function Blocks({ texts }: { readonly texts: readonly ConnectText[] }) {
  return (
    <Tabs defaultValue={texts[0]?.client ?? null} keepMounted={false}>
      <Tabs.List>
        {texts.map(({ client }) => (
          <Tabs.Tab key={client} value={client}>
            {client}
          </Tabs.Tab>
        ))}
      </Tabs.List>
      {texts.map(({ client, note, text }) => (
        <Tabs.Panel key={client} value={client}>
          <Stack gap="xs" mt="sm">
            <Text size="sm" c="dimmed">
              {note}
            </Text>
            <CodeBlock text={text} what={`commands for ${client}`} maxLines={30} />
          </Stack>
        </Tabs.Panel>
      ))}
    </Tabs>
  )
}
