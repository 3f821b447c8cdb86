import { Select, Stack, Text, Title } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useAddress } from '../../parts/address.ts'
import { ConnectMcp } from '../../parts/connect-blocks.tsx'
import css from './mcp.module.css'
import { serversQuery } from './queries.ts'

const all = 'all'
const own = 'switchyard'

/** How clients use the tools of one server, of all servers, or the agents of this service. */
export function ConnectTab() {
  const [{ server = all }, setAddress] = useAddress<'server'>()
  const { data: servers = [] } = useQuery(serversQuery)
  const name = server === all ? own : server
  const path = server === all ? '/mcp' : `/mcp/${encodeURIComponent(server)}`
  return (
    <div className={css.scrolling}>
      <Stack gap="md" maw={760}>
        <Title order={2}>Use these tools from your client</Title>
        <Text size="sm">
          A client needs the address of this service and a key of this service. The credentials of the servers stay
          here.
        </Text>
        <Select
          label="Tools"
          maw={420}
          data={[
            { value: all, label: 'All servers that the key may use' },
            { value: own, label: 'Agents of this service' },
            ...servers.map(({ server_name }) => ({ value: server_name, label: server_name })),
          ]}
          value={server}
          onChange={next => setAddress({ server: next === null || next === all ? undefined : next })}
        />
        <ConnectMcp key={server} name={name} path={path} />
        <Text size="sm" c="dimmed">
          {notes[server] ?? 'The client sees the tools as this server lists them.'}
        </Text>
      </Stack>
    </div>
  )
}

const notes: Readonly<Record<string, string>> = {
  [all]:
    'Tools are named server__tool. From 60 tools on, the client gets search_tools and call_tool instead of the list.',
  [own]: 'Each agent is a tool: a call is a prompt of a session under the key of the client.',
}
