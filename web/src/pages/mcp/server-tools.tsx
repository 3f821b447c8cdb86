import { Button, Group, Switch, Text, TextInput, Title } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { McpServer, McpStoredToolLists, McpTool } from '../../../../src/contract/mcp.ts'
import { client } from '../../data/client.ts'
import { useIsAdmin, useMayChange } from '../../data/sign-in.tsx'
import { useAddress } from '../../parts/address.ts'
import { ChangeDialog, MayChange } from '../../parts/may-change.tsx'
import { Loading, ProblemLine } from '../../parts/page-state.tsx'
import { SafeText } from '../../parts/safe-text.tsx'
import { StatePill } from '../../parts/state-pill.tsx'
import css from './mcp.module.css'
import { toolListsQuery, toolsQuery } from './queries.ts'
import { ToolCall } from './tool-call.tsx'
import { changesBetween } from './tool-changes.ts'
import { isAllowed, withTool } from './tool-rule.ts'

/** Tools shown before a search narrows them. */
const maxShown = 200

/** The tools of a server. Administrators see all accepted ones and choose which of them keys may use. */
export function ServerTools({ server }: { readonly server: McpServer }) {
  const isAdmin = useIsAdmin()
  const mayChange = useMayChange()
  const lists = useQuery({ ...toolListsQuery(server.server_id), enabled: isAdmin })
  const own = useQuery({ ...toolsQuery(server.server_id), enabled: !isAdmin && server.has_login !== false })
  const { error, isLoading } = isAdmin ? lists : own
  const tools = isAdmin ? lists.data?.accepted : own.data
  return (
    <section aria-label="Tools">
      <Group justify="space-between" mb="xs">
        <Title order={3}>Tools</Title>
        {tools && <span className="soft numbers">{tools.length}</span>}
      </Group>
      <ProblemLine error={error} />
      {isLoading && <Loading lines={3} />}
      {!tools && !isLoading && !error && (
        <Text size="sm" c="dimmed">
          {reasonOf({ isAdmin, mayChange })}
        </Text>
      )}
      {tools && <ToolList server={server} tools={tools} held={heldIn(lists.data)} />}
    </section>
  )
}

function reasonOf({ isAdmin, mayChange }: { readonly isAdmin: boolean; readonly mayChange: boolean }): string {
  if (isAdmin) return 'Unknown until the server is tested.'
  return mayChange ? 'Your login comes first.' : 'Only people with a login at the server see them.'
}

/** Names of accepted tools that the server has changed since. */
const heldIn = (lists: McpStoredToolLists | undefined): ReadonlySet<string> =>
  new Set(lists?.pending ? changesBetween(lists.accepted ?? [], lists.pending).map(({ name }) => name) : [])

interface ListProps {
  readonly server: McpServer
  readonly tools: readonly McpTool[]
  readonly held: ReadonlySet<string>
}

function ToolList({ server, tools, held }: ListProps) {
  const isAdmin = useIsAdmin()
  const [{ tool: named }, setAddress] = useAddress<'tool'>()
  const [filter, setFilter] = useState('')
  const queries = useQueryClient()
  const change = useMutation({
    mutationFn: (body: ReturnType<typeof withTool>) =>
      client.mcp.update({ params: { server_id: server.server_id }, body }),
    onSettled: () => queries.invalidateQueries({ queryKey: ['mcp'] }),
  })
  const closeCall = () => setAddress({ tool: undefined })
  const found = tools.filter(({ name }) => name.toLowerCase().includes(filter.trim().toLowerCase()))
  const called = tools.find(({ name }) => name === named)
  return (
    <>
      {tools.length > 8 && (
        <TextInput
          size="xs"
          mb="xs"
          label="Search tools"
          value={filter}
          onChange={({ currentTarget }) => setFilter(currentTarget.value)}
        />
      )}
      <ProblemLine error={change.error} />
      <ul className={css.tools}>
        {found.slice(0, maxShown).map(tool => (
          <li key={tool.name} className={css.tool}>
            <div className={css.toolHead}>
              <span className="mono clip">
                <SafeText text={tool.name} />
              </span>
              <Group gap="sm" wrap="nowrap">
                {isAdmin && (
                  <Switch
                    size="xs"
                    label="Allowed"
                    labelPosition="left"
                    checked={isAllowed(server, tool.name)}
                    disabled={server.locked || change.isPending}
                    onChange={({ currentTarget }) => change.mutate(withTool(server, tool.name, currentTarget.checked))}
                    aria-label={`Allow tool ${tool.name}`}
                  />
                )}
                {held.has(tool.name) && <StatePill state="attention" word="held" />}
                <MayChange>
                  <Button
                    variant="default"
                    size="compact-xs"
                    disabled={held.has(tool.name) || !isAllowed(server, tool.name)}
                    onClick={() => setAddress({ tool: tool.name })}
                    aria-label={`Call tool ${tool.name}`}
                  >
                    Call tool
                  </Button>
                </MayChange>
              </Group>
            </div>
            {tool.description !== undefined && (
              <div className={css.toolText}>
                <SafeText text={tool.description.slice(0, 600)} />
              </div>
            )}
          </li>
        ))}
      </ul>
      {found.length > maxShown && (
        <Text size="sm" c="dimmed">
          {found.length - maxShown} more; search to find them
        </Text>
      )}
      {called && (
        <ChangeDialog title={`Call ${called.name}`} right="Viewers cannot call tools" onClose={closeCall}>
          <ToolCall server={server} tool={called} onClose={closeCall} />
        </ChangeDialog>
      )}
    </>
  )
}
