import { Button, Code, Group, Stack, Text } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import type { McpServer, McpServerTest } from '../../../../src/contract/mcp.ts'
import { client } from '../../data/client.ts'
import { useIsAdmin, useMayChange } from '../../data/sign-in.tsx'
import { Confirm } from '../../parts/confirm.tsx'
import { CopyButton, Id } from '../../parts/copy.tsx'
import { Facts } from '../../parts/facts.tsx'
import { Time } from '../../parts/figures.tsx'
import { duration, plural } from '../../parts/format.ts'
import { InConfigFile } from '../../parts/in-config-file.tsx'
import { MayChange } from '../../parts/may-change.tsx'
import { ProblemLine } from '../../parts/page-state.tsx'
import { SafeText } from '../../parts/safe-text.tsx'
import { SidePanel } from '../../parts/side-panel.tsx'
import { StatePill } from '../../parts/state-pill.tsx'
import { TextLink } from '../../parts/text-link.tsx'
import { Login } from './login.tsx'
import { serversQuery } from './queries.ts'
import { ServerForm } from './server-form.tsx'
import { authOf, stateOf } from './server-state.ts'
import { ServerTools } from './server-tools.tsx'
import { ToolReview } from './tool-review.tsx'

interface Props {
  readonly id: string
  /** Undefined when the caller may not use it or it does not exist. */
  readonly server: McpServer | undefined
  readonly onClose: () => void
}

/** One server: what it needs, its facts, its tools. */
export function ServerPanel({ id, server, onClose }: Props) {
  if (!server) {
    return (
      <SidePanel title="Not found" onClose={onClose}>
        <Text size="sm">
          MCP server <Code>{id}</Code> does not exist or belongs to someone else.
        </Text>
      </SidePanel>
    )
  }
  return (
    <SidePanel title={server.server_name} onClose={onClose}>
      <Stack gap="md">
        <Head server={server} onDeleted={onClose} />
        {server.has_login !== null && (
          <MayChange>
            <Login server={server} />
          </MayChange>
        )}
        {server.pending_tools_hash !== null && <ToolReview server={server} />}
        <ServerFacts server={server} />
        <ServerTools server={server} />
      </Stack>
    </SidePanel>
  )
}

function Head({ server, onDeleted }: { readonly server: McpServer; readonly onDeleted: () => void }) {
  const isAdmin = useIsAdmin()
  const mayChange = useMayChange()
  const queries = useQueryClient()
  const [isEditing, editing] = useDisclosure()
  const [isDeleting, deleting] = useDisclosure()
  const params = { server_id: server.server_id }
  const refresh = () => queries.invalidateQueries({ queryKey: ['mcp'] })
  const test = useMutation({ mutationFn: () => client.mcp.test({ params }), onSettled: refresh })
  const remove = async () => {
    await client.mcp.remove({ params })
    onDeleted()
    // Only the list: the deleted object is still open.
    await queries.invalidateQueries({ queryKey: serversQuery.queryKey })
  }
  return (
    <Stack gap="sm">
      <Group gap="sm">
        <StatePill {...stateOf(server, { isAdmin, mayChange })} />
        <Id id={server.server_id} what="server id" />
      </Group>
      {server.description !== null && (
        <Text size="sm">
          <SafeText text={server.description} />
        </Text>
      )}
      {server.locked && <InConfigFile />}
      {isAdmin && (
        <Group gap="sm">
          <Button variant="default" onClick={() => test.mutate()} loading={test.isPending}>
            Test server
          </Button>
          {!server.locked && (
            <>
              <Button variant="default" onClick={editing.open}>
                Edit server
              </Button>
              <Button variant="default" onClick={deleting.open}>
                Delete server
              </Button>
            </>
          )}
        </Group>
      )}
      {test.data && <TestResult result={test.data} />}
      <ProblemLine error={test.error} />
      {isEditing && <ServerForm server={server} onClose={editing.close} onSaved={editing.close} />}
      <Confirm
        isOpen={isDeleting}
        onClose={deleting.close}
        question={`Delete MCP server ${server.server_name}?`}
        consequence="Its credential and all logins of people are deleted. Agents that name it lose its tools; clients get 404."
        action="Delete server"
        run={remove}
      />
    </Stack>
  )
}

function TestResult({ result }: { readonly result: McpServerTest }) {
  if (!result.ok) {
    return (
      <div role="alert">
        <StatePill state="failed" word="test failed" detail={`after ${duration(result.latency_ms)}`} />
        <Text size="sm">
          <SafeText text={result.error ?? 'no reason given'} />
        </Text>
      </div>
    )
  }
  const detail = `${plural(result.tools.length, 'tool')} in ${duration(result.latency_ms)}`
  return (
    <div role="status">
      <StatePill state="done" word="test passed" detail={detail} />
    </div>
  )
}

const approvals = { always: 'every call in a session', never: 'none' } as const

function ServerFacts({ server }: { readonly server: McpServer }) {
  const { url, require_approval: approval, last_error, static_headers, protocol_version, era } = server
  const headers = Object.entries(static_headers)
  return (
    <Facts
      of={[
        ['Last check', <Time key="time" at={server.last_checked_at} absent="not tested" />],
        ['Error', last_error !== null && <SafeText text={last_error} />],
        [
          'Address',
          url === null ? (
            'a program that the service starts'
          ) : (
            <>
              <span className="mono">
                <SafeText text={url} />
              </span>{' '}
              <CopyButton text={url} what="address" />
            </>
          ),
        ],
        ['Alias', server.alias !== null && <SafeText text={server.alias} />],
        ['Authentication', authOf(server)],
        ['Vault entry', server.vault_key !== null && <Code>{server.vault_key}</Code>],
        ['Headers', headers.length > 0 && headers.map(([name, value]) => `${name}: ${value}`).join(', ')],
        ['Needs approval', typeof approval === 'string' ? approvals[approval] : approval.join(', ')],
        ['Protocol', protocol_version !== null && `${protocol_version} (${era})`],
        [
          'Calls',
          <TextLink key="calls" to="." search={{ tab: 'calls', server: server.server_name }}>
            Show the call log
          </TextLink>,
        ],
      ]}
    />
  )
}
