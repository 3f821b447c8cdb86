import { ActionIcon, Button, Group, Select, TextInput } from '@mantine/core'
import { IconChevronDown, IconChevronRight, IconTrash } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { mcpServersQuery } from '../../../data/lists.ts'
import { MayChange } from '../../../parts/may-change.tsx'
import { SafeText } from '../../../parts/safe-text.tsx'
import css from '../agent.module.css'
import { PolicyControl } from './policy-control.tsx'
import { ServerToolList } from './server-tool-list.tsx'
import type { ServerSetup } from './setup.ts'

interface Props {
  readonly servers: readonly ServerSetup[]
  readonly onChange: (servers: readonly ServerSetup[]) => void
}

/** The MCP servers whose tools the agent has. */
export function ServerTools({ servers, onChange }: Props) {
  const replace = (name: string, fields: Partial<ServerSetup>) =>
    onChange(servers.map(server => (server.name === name ? { ...server, ...fields } : server)))
  return (
    <section className={css.group} aria-label="MCP servers">
      <div className={css.changeName}>MCP servers</div>
      <div>
        {servers.map(server => (
          <ServerRow
            key={server.name}
            server={server}
            onChange={fields => replace(server.name, fields)}
            onRemove={() => onChange(servers.filter(({ name }) => name !== server.name))}
          />
        ))}
      </div>
      <MayChange>
        <AddServer
          taken={servers.map(({ name }) => name)}
          onAdd={server => onChange([...servers, { ...server, policy: 'allow', tools: {} }])}
        />
      </MayChange>
    </section>
  )
}

interface RowProps {
  readonly server: ServerSetup
  readonly onChange: (fields: Partial<ServerSetup>) => void
  readonly onRemove: () => void
}

function ServerRow({ server, onChange, onRemove }: RowProps) {
  const [isOpen, setOpen] = useState(false)
  const { name, url, policy, tools } = server
  const own = Object.keys(tools).length
  return (
    <>
      <div className={css.row}>
        <span>
          <Button
            variant="subtle"
            color="gray"
            size="compact-xs"
            aria-expanded={isOpen}
            leftSection={isOpen ? <IconChevronDown size={12} /> : <IconChevronRight size={12} />}
            onClick={() => setOpen(!isOpen)}
          >
            <SafeText text={name} />
          </Button>
          <span className="soft">
            {url !== undefined && <SafeText text={url} />}
            {own > 0 && ` ${own} with a separate policy`}
          </span>
        </span>
        <span className={css.actions}>
          <PolicyControl label={`Policy of ${name}`} value={policy} onChange={next => onChange({ policy: next })} />
          <MayChange>
            <ActionIcon aria-label={`Remove server ${name}`} onClick={onRemove}>
              <IconTrash size={14} />
            </ActionIcon>
          </MayChange>
        </span>
      </div>
      {isOpen && <ServerToolList server={server} onChange={next => onChange({ tools: next })} />}
    </>
  )
}

interface AddProps {
  readonly taken: readonly string[]
  readonly onAdd: (server: Pick<ServerSetup, 'name' | 'url'>) => void
}

const namePattern = /^[A-Za-z0-9_-]{1,64}$/

function AddServer({ taken, onAdd }: AddProps) {
  const { data = [] } = useQuery(mcpServersQuery)
  const [other, setOther] = useState<{ readonly name: string; readonly url: string }>()
  const names = data.map(({ alias, server_name: name }) => alias ?? name).filter(name => !taken.includes(name))
  if (other) {
    const isComplete = namePattern.test(other.name) && /^https?:[/][/]./.test(other.url) && !taken.includes(other.name)
    return (
      <Group gap="sm" align="flex-end">
        <TextInput
          label="Name"
          description="Letters, digits, _ and -"
          value={other.name}
          onChange={({ currentTarget }) => setOther({ ...other, name: currentTarget.value })}
          w={160}
        />
        <TextInput
          label="Address"
          description="Without a credential: register a server that needs one"
          value={other.url}
          onChange={({ currentTarget }) => setOther({ ...other, url: currentTarget.value })}
          placeholder="https://docs.example.com/mcp"
          flex={1}
        />
        <Button
          disabled={!isComplete}
          onClick={() => {
            onAdd(other)
            setOther(undefined)
          }}
        >
          Add server
        </Button>
        <Button variant="default" onClick={() => setOther(undefined)}>
          Cancel
        </Button>
      </Group>
    )
  }
  return (
    <Group gap="sm">
      <Select
        aria-label="Add a registered server"
        placeholder={names.length === 0 ? 'No other server is registered' : 'Add a registered server'}
        data={names}
        value={null}
        onChange={name => name !== null && onAdd({ name, url: undefined })}
        disabled={names.length === 0}
        size="xs"
        w={240}
      />
      <Button variant="subtle" onClick={() => setOther({ name: '', url: '' })}>
        Add a server by its address
      </Button>
      <Link to="/console/mcp" className={css.scalar ?? ''}>
        Register servers
      </Link>
    </Group>
  )
}
