import { useDebouncedValue } from '@mantine/hooks'
import { Spotlight, type SpotlightActionData } from '@mantine/spotlight'
import { IconKey, IconMessages, IconPlus, IconRobot } from '@tabler/icons-react'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { memo } from 'react'
import { client } from '../data/client.ts'
import { useIsAdmin, useMayChange } from '../data/sign-in.tsx'
import { type MenuPage, usePages } from './pages.ts'

type Action = SpotlightActionData & { readonly label: string }
type Open = (href: string) => void

const idPrefixes: readonly (readonly [prefix: RegExp, title: string, address: (id: string) => string])[] = [
  [/^ses_/, 'Open session', id => `/console/sessions/${id}`],
  [/^agent_/, 'Open agent', id => `/console/agents/${id}`],
  [/^req_/, 'Show call', id => `/console/logs?request_id=${id}`],
  [/^skill_/, 'Open skill', id => `/console/skills?open=${id}`],
  [/^key_/, 'Open API key', id => `/console/keys?open=${id}`],
]

const maxResults = 12
/** After the last key until the service is asked. */
const debounceMs = 150

/** What the palette offers for a text: objects of the service, pages, actions. */
export const PaletteResults = memo(function PaletteResults({ query }: { readonly query: string }) {
  const navigate = useNavigate()
  const isAdmin = useIsAdmin()
  const mayChange = useMayChange()
  const offered = usePages()
  const open: Open = href => void navigate({ href })
  const text = query.trim()
  const found = useFound(text, isAdmin)
  const matches = ({ label, description }: Action) =>
    `${label} ${description}`.toLowerCase().includes(text.toLowerCase())
  const groups = [
    { label: undefined, actions: openById(text, open) },
    { label: 'Found', actions: text.length < minLength ? [] : found(open) },
    { label: 'Pages', actions: pages(offered, open).filter(matches) },
    { label: 'Actions', actions: mayChange ? creations(isAdmin, open).filter(matches) : [] },
  ]
  let left = maxResults
  const shown = groups.map(({ label, actions }) => {
    const some = actions.slice(0, left)
    left -= some.length
    return { label, actions: some }
  })
  if (left === maxResults) return <Spotlight.Empty>Nothing matches</Spotlight.Empty>
  return shown.map(({ label, actions }) =>
    actions.length === 0 ? null : label === undefined ? (
      actions.map(action => <Spotlight.Action key={action.id} {...action} />)
    ) : (
      <Spotlight.ActionsGroup key={label} label={label}>
        {actions.map(action => (
          <Spotlight.Action key={action.id} {...action} />
        ))}
      </Spotlight.ActionsGroup>
    ),
  )
})

const openById = (id: string, open: Open): Action[] =>
  idPrefixes
    .filter(([prefix]) => prefix.test(id))
    .map(([, label, address]) => ({
      id,
      label: `${label} ${id}`,
      onClick: () => open(address(encodeURIComponent(id))),
    }))

const pages = (offered: readonly MenuPage[], open: Open): Action[] =>
  offered.map(({ path, title, icon: Icon, letter }) => ({
    id: path,
    label: title,
    description: `g ${letter}`,
    leftSection: <Icon size={16} />,
    onClick: () => open(path),
  }))

const creations = (isAdmin: boolean, open: Open): Action[] =>
  [
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

/** The service is asked from this length on. */
const minLength = 2

/** Agents, sessions and, for administrators, keys whose name contains the text. */
function useFound(text: string, isAdmin: boolean): (open: Open) => Action[] {
  const [q] = useDebouncedValue(text, debounceMs)
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
    enabled: q.length >= minLength,
    staleTime: 10_000,
    placeholderData: keepPreviousData,
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
      leftSection: <IconMessages size={16} />,
      onClick: () => open(`/console/sessions/${id}`),
    })),
    ...(data?.keys.keys ?? []).map(({ id, label, prefix, last4 }) => ({
      id,
      label: label === '' ? `${prefix}…${last4}` : label,
      description: 'API key',
      leftSection: <IconKey size={16} />,
      onClick: () => open(`/console/keys?open=${id}`),
    })),
  ]
}
