import '@mantine/spotlight/styles.css'
import { Spotlight, type SpotlightActionData } from '@mantine/spotlight'
import { IconKey, IconMessages, IconPlus, IconRobot, IconSearch } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { client } from '../data/client.ts'
import { useIsAdmin } from '../data/sign-in.tsx'
import { pagesFor } from './pages.ts'

const idPrefixes: readonly (readonly [prefix: RegExp, title: string, address: (id: string) => string])[] = [
  [/^ses_/, 'Open session', id => `/console/sessions/${id}`],
  [/^agent_/, 'Open agent', id => `/console/agents/${id}`],
  [/^req_/, 'Show call', id => `/console/logs?request_id=${id}`],
  [/^skill_/, 'Open skill', id => `/console/skills?open=${id}`],
  [/^key_/, 'Open API key', id => `/console/keys?open=${id}`],
]

/** The command palette: pages, actions, agents and sessions; a pasted id jumps to its object. */
export function Palette() {
  const [query, setQuery] = useState('')
  const navigate = useNavigate()
  const isAdmin = useIsAdmin()
  const open = (href: string) => void navigate({ href })
  const found = useFound(query)

  const pages = pagesFor(isAdmin).map(
    ({ path, title, icon: Icon, letter }): SpotlightActionData => ({
      id: path,
      label: title,
      description: `g ${letter}`,
      leftSection: <Icon size={16} />,
      onClick: () => open(path),
    }),
  )
  const actions: SpotlightActionData[] = [
    ['Create agent', '/console/agents?create=1'],
    ['Start session', '/console/sessions?create=1'],
    ...(isAdmin ? [['Create API key', '/console/keys?create=1'] as const] : []),
    ['Create schedule', '/console/schedules?create=1'],
  ].map(([label = '', href = '']) => ({
    id: label,
    label,
    leftSection: <IconPlus size={16} />,
    onClick: () => open(href),
  }))
  const id = query.trim()
  const byId = idPrefixes
    .filter(([prefix]) => prefix.test(id))
    .map(
      ([, label, address]): SpotlightActionData => ({
        id,
        label: `${label} ${id}`,
        keywords: id,
        onClick: () => open(address(encodeURIComponent(id))),
      }),
    )

  return (
    <Spotlight
      shortcut={['mod + K']}
      query={query}
      onQueryChange={setQuery}
      limit={12}
      scrollable
      maxHeight={420}
      nothingFound="Nothing matches"
      actions={[
        ...byId,
        { group: 'Found', actions: found(open) },
        { group: 'Pages', actions: pages },
        { group: 'Actions', actions },
      ]}
      searchProps={{
        leftSection: <IconSearch size={16} />,
        placeholder: 'Page, action, name or id',
        'aria-label': 'Search',
      }}
    />
  )
}

/** Agents, sessions and, for administrators, keys whose name contains the text. */
function useFound(query: string): (open: (href: string) => void) => SpotlightActionData[] {
  const q = query.trim()
  const isAdmin = useIsAdmin()
  const { data } = useQuery({
    queryKey: ['palette', q],
    queryFn: async () => {
      const [agents, sessions, keys] = await Promise.all([
        client.agents.list({ query: { limit: 100 } }),
        client.sessions.list({ query: { q, limit: 5 } }),
        isAdmin ? client.keys.list({ query: { q, limit: 5 } }) : { keys: [] },
      ])
      return { agents, sessions, keys }
    },
    enabled: q.length >= 2,
    staleTime: 10_000,
  })
  return open => [
    ...(data?.agents.agents ?? [])
      .filter(({ name }) => name.toLowerCase().includes(q.toLowerCase()))
      .slice(0, 5)
      .map(({ id, name }) => ({
        id,
        label: name,
        description: 'agent',
        leftSection: <IconRobot size={16} />,
        onClick: () => open(`/console/agents/${id}`),
      })),
    ...(data?.sessions ?? []).map(({ id, title }) => ({
      id,
      label: title === '' ? id : title,
      description: 'session',
      keywords: q,
      leftSection: <IconMessages size={16} />,
      onClick: () => open(`/console/sessions/${id}`),
    })),
    ...(data?.keys.keys ?? []).map(({ id, label, prefix, last4 }) => ({
      id,
      label: label === '' ? `${prefix}…${last4}` : label,
      description: 'API key',
      keywords: q,
      leftSection: <IconKey size={16} />,
      onClick: () => open(`/console/keys?open=${id}`),
    })),
  ]
}
