import { Button, Group, Stack, Title } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import type { ApiKey, ShownApiKey } from '../../../../src/contract/keys.ts'
import { useAddress } from '../../parts/address.ts'
import { BudgetBar } from '../../parts/budget-bar.tsx'
import { JsonBlock } from '../../parts/code.tsx'
import { Id } from '../../parts/copy.tsx'
import { Facts } from '../../parts/facts.tsx'
import { Time } from '../../parts/figures.tsx'
import { count } from '../../parts/format.ts'
import { useNow } from '../../parts/now.ts'
import { Loading, ProblemBlock } from '../../parts/page-state.tsx'
import { RaiseBudget } from '../../parts/raise-budget.tsx'
import { SafeText } from '../../parts/safe-text.tsx'
import { SidePanel } from '../../parts/side-panel.tsx'
import { EditKey } from './edit-key.tsx'
import { RevokeKey, RotateKey } from './key-actions.tsx'
import { KeyChildren } from './key-children.tsx'
import { KeyCharacters, KeyState } from './key-columns.tsx'
import { keySentence } from './key-sentence.ts'
import { keyName, keyStatus } from './key-status.ts'
import { childrenQuery, keyQuery } from './queries.ts'

interface Props {
  readonly id: string
  readonly onClose: () => void
  readonly onOpen: (id: string) => void
  readonly onRotated: (key: ShownApiKey) => void
}

/** One key beside the list. */
export function KeyPanel({ id, onClose, onOpen, onRotated }: Props) {
  const { data, error, refetch } = useQuery(keyQuery(id))
  const [{ edit }, setAddress] = useAddress<'edit'>()
  const stopEditing = () => setAddress({ edit: undefined })
  if (!data) {
    return (
      <SidePanel title="API key" onClose={onClose}>
        {error ? <ProblemBlock error={error} what="load the key" retry={() => void refetch()} /> : <Loading />}
      </SidePanel>
    )
  }
  if (edit === '1' && data.revoked_at === null && !data.is_sign_in) {
    return (
      <SidePanel title={`Edit ${keyName(data)}`} onClose={stopEditing}>
        <EditKey apiKey={data} onDone={stopEditing} />
      </SidePanel>
    )
  }
  return (
    <SidePanel title={keyName(data)} onClose={onClose}>
      <Stack gap="md">
        <Actions apiKey={data} onRotated={onRotated} />
        <Details apiKey={data} />
        <Group gap="md">
          <Link to="/console/usage" search={{ key_id: id }}>
            Usage
          </Link>
          <Link to="/console/audit" search={{ object_id: id }}>
            Changes
          </Link>
        </Group>
        <KeyChildren id={id} onOpen={onOpen} />
      </Stack>
    </SidePanel>
  )
}

function Actions({ apiKey, onRotated }: { readonly apiKey: ApiKey } & Pick<Props, 'onRotated'>) {
  const [, setAddress] = useAddress<'edit'>()
  const [dialog, setDialog] = useState<'rotate' | 'revoke'>()
  const { data } = useQuery(childrenQuery(apiKey.id))
  const close = () => setDialog(undefined)
  const isRevoked = apiKey.revoked_at !== null
  return (
    <Group gap="sm">
      {!isRevoked && (
        <>
          {!apiKey.is_sign_in && (
            <Button variant="default" onClick={() => setAddress({ edit: '1' })}>
              Edit key
            </Button>
          )}
          {apiKey.max_budget !== null && (
            <RaiseBudget
              budget={{ ...apiKey, scope: 'key', scope_id: apiKey.id }}
              onOther={() => setAddress({ edit: '1' })}
            />
          )}
          {!apiKey.is_sign_in && (
            <Button variant="default" onClick={() => setDialog('rotate')}>
              Rotate key
            </Button>
          )}
          <Button variant="default" c="var(--state-failed)" onClick={() => setDialog('revoke')}>
            Revoke key
          </Button>
        </>
      )}
      <RotateKey apiKey={apiKey} isOpen={dialog === 'rotate'} onClose={close} onRotated={onRotated} />
      <RevokeKey
        apiKey={apiKey}
        isOpen={dialog === 'revoke'}
        onClose={close}
        below={data?.keys.filter(({ revoked_at }) => revoked_at === null).length}
      />
    </Group>
  )
}

const listed = (names: readonly string[], none: string) =>
  names.length === 0 ? <span className="soft">{none}</span> : <SafeText text={names.join(', ')} />

function Details({ apiKey }: { readonly apiKey: ApiKey }) {
  const now = useNow()
  const { isValid } = keyStatus(apiKey, now)
  const { mcp_servers: servers, mcp_tools: tools, parent_id: parent } = apiKey
  return (
    <Stack gap="md">
      {isValid && (
        <div>
          <SafeText text={keySentence(apiKey, now)} />
        </div>
      )}
      <BudgetBar budget={apiKey} />
      <Facts
        of={[
          ['State', <KeyState key="state" apiKey={apiKey} />],
          ['Id', <Id key="id" id={apiKey.id} what="key id" />],
          ['Key', <KeyCharacters key="key" apiKey={apiKey} />],
          ['Owner', <Owner key="owner" apiKey={apiKey} />],
          ...holderFacts(apiKey),
          ['Role', apiKey.role === 'admin' ? 'administrator' : apiKey.role],
          ['Models', listed(apiKey.models, 'every model')],
          ['Warning', apiKey.soft_budget !== null && `from $${apiKey.soft_budget}`],
          ['Requests a minute', apiKey.rpm_limit !== null && count(apiKey.rpm_limit)],
          ['Tokens a minute', apiKey.tpm_limit !== null && count(apiKey.tpm_limit)],
          ['Calls at a time', apiKey.max_parallel_requests !== null && count(apiKey.max_parallel_requests)],
          ['MCP servers', servers !== null && listed(servers, 'none')],
          ['Provider APIs', apiKey.passthrough.length > 0 && apiKey.passthrough.join(', ')],
          ['Cache', apiKey.cache?.ttl],
          ['Bodies', apiKey.log_bodies !== null && <Recorded until={apiKey.log_bodies.until} />],
          ['Last used', <Time key="used" at={apiKey.last_used_at} />],
          ['Expires', <Time key="expires" at={apiKey.expires_at} />],
          ['Revoked', apiKey.revoked_at !== null && <Time at={apiKey.revoked_at} />],
          ['Created', <CreatedBy key="created" apiKey={apiKey} />],
          ['Created by key', parent !== null && <ParentLink id={parent} />],
        ]}
      />
      {tools !== null && <Titled title="MCP tools" value={tools} />}
      {Object.keys(apiKey.metadata).length > 0 && <Titled title="Metadata" value={apiKey.metadata} />}
    </Stack>
  )
}

const Titled = ({ title, value }: { readonly title: string; readonly value: unknown }) => (
  <section>
    <Title order={3} mb={4}>
      {title}
    </Title>
    <JsonBlock value={value} what={title} />
  </section>
)

function Owner({ apiKey: { owner_id: owner } }: { readonly apiKey: ApiKey }) {
  if (owner === null) return <span className="soft">every owner</span>
  return (
    <Link to="." search={before => ({ ...before, owner })}>
      <SafeText text={owner} />
    </Link>
  )
}

const ParentLink = ({ id }: { readonly id: string }) => (
  <Link to="." search={before => ({ ...before, open: id })} className="mono">
    {id}
  </Link>
)

const holderFacts = ({ user_id: user, team_id: team, is_sign_in: isSignIn }: ApiKey) =>
  [
    ['User', user !== null && <HolderLink key="user" page="users" id={user} />],
    ['Team', team !== null && <HolderLink key="team" page="teams" id={team} />],
    ['Signs in', isSignIn && 'the sign-ins of the user use this key; revoking it ends them'],
  ] as const

const HolderLink = ({ page, id }: { readonly page: 'users' | 'teams'; readonly id: string }) => (
  <Link to={`/console/${page}`} search={{ open: id }} className="mono">
    {id}
  </Link>
)

const Recorded = ({ until }: { readonly until: string }) => (
  <>
    recorded for <Time at={until} />
  </>
)

const CreatedBy = ({ apiKey: { created_at: at, created_by: by } }: { readonly apiKey: ApiKey }) => (
  <>
    <Time at={at} /> by <SafeText text={by} />
  </>
)
