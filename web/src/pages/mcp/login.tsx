import { Button, Group, Text } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import type { McpServer } from '../../../../src/contract/mcp.ts'
import { client } from '../../data/client.ts'
import { useMe } from '../../data/sign-in.tsx'
import { Elapsed } from '../../parts/figures.tsx'
import { ProblemLine } from '../../parts/page-state.tsx'
import { StatePill } from '../../parts/state-pill.tsx'

const pollMs = 2_000

/** The login of the caller at a server where each person uses an own account. */
export function Login({ server }: { readonly server: McpServer }) {
  const { principal } = useMe()
  const queries = useQueryClient()
  const params = { server_id: server.server_id }
  const refresh = () => queries.invalidateQueries({ queryKey: ['mcp'] })
  const begin = useMutation({
    mutationFn: async () => {
      // Opened before the request: browsers block windows that do not follow a click at once.
      const tab = window.open('about:blank', '_blank')
      try {
        const { authorization_url, expires_at } = await client.mcp.authorize({ params })
        openAddress(tab, authorization_url)
        return { address: authorization_url, startedAt: Date.now(), expires_at, isOpened: tab !== null }
      } catch (error) {
        tab?.close()
        throw error
      }
    },
  })
  const logout = useMutation({ mutationFn: () => client.mcp.logout({ params }), onSettled: refresh })
  const isWaiting = begin.data !== undefined && !server.has_login && Date.parse(begin.data.expires_at) > Date.now()
  useQuery({
    queryKey: ['mcp-login', server.server_id, begin.data?.startedAt],
    queryFn: async () => {
      const { has_login } = await client.mcp.get({ params })
      if (has_login) await refresh()
      return has_login
    },
    enabled: isWaiting,
    refetchInterval: pollMs,
  })

  if (server.has_login) {
    return (
      <Group gap="sm">
        <StatePill state="done" word="logged in" detail={`as ${principal}`} />
        <Button variant="default" onClick={() => logout.mutate()} loading={logout.isPending}>
          Log out
        </Button>
        <ProblemLine error={logout.error} />
      </Group>
    )
  }
  return (
    <div>
      <Text size="sm" mb="xs">
        Each person uses this server with a separate account. Your calls need your login; it applies to {principal}{' '}
        only.
      </Text>
      <Group gap="sm">
        <Button onClick={() => begin.mutate()} loading={begin.isPending}>
          Log in at the server
        </Button>
        {isWaiting && (
          <>
            <StatePill state="waiting" word="waiting for the login" />
            <span className="soft">
              <Elapsed since={begin.data.startedAt} />
            </span>
          </>
        )}
      </Group>
      {isWaiting && !begin.data.isOpened && (
        <Text size="sm" mt="xs">
          The browser blocked the new tab.{' '}
          <a href={httpAddress(begin.data.address)} target="_blank" rel="noopener noreferrer">
            Open the login
          </a>
        </Text>
      )}
      <ProblemLine error={begin.error} />
    </div>
  )
}

/** The address comes from the metadata of a foreign server; other schemes could run scripts in this page. */
function httpAddress(address: string): string {
  const { protocol, href } = new URL(address)
  if (protocol === 'https:' || protocol === 'http:') return href
  throw new Error(`the authorization server gave an address with ${protocol} instead of https`)
}

function openAddress(tab: Window | null, address: string): void {
  if (!tab) return
  tab.opener = null
  tab.location.replace(httpAddress(address))
}
