import { Button, Group, Modal, PasswordInput, Select, Stack, Text, TextInput } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { McpServer } from '../../../../src/contract/mcp.ts'
import { client } from '../../data/client.ts'
import { formErrorOf } from '../../data/form-error.ts'
import { useSubmit } from '../../data/submit.ts'
import { ProblemLine } from '../../parts/page-state.tsx'
import { type Draft, type DraftAuth, draftOf, fieldNames, writeOf } from './server-draft.ts'

interface Props {
  /** Server to edit; absent to register one. */
  readonly server?: McpServer
  readonly onClose: () => void
  readonly onSaved: (server: McpServer) => void
}

const auths: readonly { readonly value: DraftAuth; readonly label: string }[] = [
  { value: 'none', label: 'None' },
  { value: 'bearer_token', label: 'Bearer token' },
  { value: 'api_key', label: 'x-api-key header' },
  { value: 'basic', label: 'User and password' },
  { value: 'authorization', label: 'Authorization header as it is' },
  { value: 'client_credentials', label: 'OAuth, one account for all (client credentials)' },
  { value: 'authorization_code', label: 'OAuth, login of each person' },
]

/** Registers or changes a server that is reached over HTTP. */
export function ServerForm({ server, onClose, onSaved }: Props) {
  const queries = useQueryClient()
  const [draft, setDraft] = useState<Draft>(() => draftOf(server))
  const set = (changes: Partial<Draft>) => setDraft(before => ({ ...before, ...changes }))
  const { send, error, isRunning } = useSubmit(async () => {
    const body = writeOf(draft, server)
    const saved = server
      ? await client.mcp.update({ params: { server_id: server.server_id }, body })
      : await client.mcp.create({ body })
    await queries.invalidateQueries({ queryKey: ['mcp'] })
    onSaved(saved)
  })
  const problem = formErrorOf(error, fieldNames)
  const isMoved = server !== undefined && draft.url !== server.url
  return (
    <Modal opened onClose={onClose} title={server ? `Edit ${server.server_name}` : 'Register MCP server'} size="lg">
      <form onSubmit={send}>
        <Stack gap="md">
          <TextInput
            label="Name"
            description="Letters, digits, _ and -; part of the names of its tools"
            placeholder="tickets"
            value={draft.server_name}
            onChange={({ currentTarget }) => set({ server_name: currentTarget.value })}
            error={problem.at('server_name')}
            required
            data-autofocus
          />
          <TextInput
            label="Address"
            description="Endpoint for streamable HTTP. Programs (stdio) are set in the configuration file"
            placeholder="https://tools.example.com/mcp"
            value={draft.url}
            onChange={({ currentTarget }) => set({ url: currentTarget.value })}
            error={problem.at('url')}
            required
          />
          <TextInput
            label="Description"
            value={draft.description}
            onChange={({ currentTarget }) => set({ description: currentTarget.value })}
            error={problem.at('description')}
          />
          <Select
            label="Authentication at the server"
            data={auths}
            value={draft.auth}
            onChange={auth => set({ auth: (auth ?? draft.auth) as DraftAuth })}
            error={problem.at('auth_type')}
          />
          <Credential draft={draft} set={set} at={problem.at} isStored={server?.has_credentials === true && !isMoved} />
          {isMoved && server.has_credentials && (
            <Text size="sm" c="dimmed">
              A new address removes the stored credential and headers: enter the credential again.
            </Text>
          )}
          <Select
            label="Approval in sessions"
            description="Calls that wait for a person"
            data={[
              { value: 'never', label: 'None' },
              { value: 'always', label: 'Every call' },
              { value: 'some', label: 'Calls of some tools' },
            ]}
            value={draft.approval}
            onChange={approval => set({ approval: (approval ?? 'never') as Draft['approval'] })}
          />
          {draft.approval === 'some' && (
            <TextInput
              label="Tools that need approval"
              description="Names, separated by commas"
              value={draft.approvalTools}
              onChange={({ currentTarget }) => set({ approvalTools: currentTarget.value })}
              error={problem.at('require_approval')}
            />
          )}
          <ProblemLine error={problem.rest} />
          <Group justify="flex-end" gap="sm">
            <Button variant="default" onClick={onClose}>
              Cancel
            </Button>
            <Button type="submit" loading={isRunning}>
              {server ? 'Save server' : 'Register server'}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  )
}

interface CredentialProps {
  readonly draft: Draft
  readonly set: (changes: Partial<Draft>) => void
  readonly at: (field: (typeof fieldNames)[number]) => string | undefined
  readonly isStored: boolean
}

function Credential({ draft, set, at, isStored }: CredentialProps) {
  const hint = isStored
    ? 'Stored. Empty fields keep what is stored; one new value replaces all of it'
    : 'Stored encrypted and never shown again'
  if (draft.auth === 'none') return null
  if (draft.auth === 'client_credentials' || draft.auth === 'authorization_code') {
    const isOptional = draft.auth === 'authorization_code'
    return (
      <>
        <TextInput
          label="Client id"
          description={isOptional ? 'Only if the authorization server does not register clients itself' : hint}
          value={draft.clientId}
          onChange={({ currentTarget }) => set({ clientId: currentTarget.value })}
          error={at('credentials.client_id')}
        />
        <PasswordInput
          label="Client secret"
          description={hint}
          value={draft.clientSecret}
          onChange={({ currentTarget }) => set({ clientSecret: currentTarget.value })}
          error={at('credentials.client_secret')}
          autoComplete="off"
        />
        <TextInput
          label="Scopes"
          description="Separated by spaces. Empty: the scopes that the server names"
          value={draft.scopes}
          onChange={({ currentTarget }) => set({ scopes: currentTarget.value })}
          error={at('credentials.scopes')}
        />
        <TextInput
          label="Token endpoint"
          description="Only if it is not at the address of the server: the client secret is sent to this host alone"
          value={draft.tokenUrl}
          onChange={({ currentTarget }) => set({ tokenUrl: currentTarget.value })}
          error={at('credentials.token_url')}
        />
      </>
    )
  }
  return (
    <>
      <PasswordInput
        label={draft.auth === 'basic' ? 'user:password' : 'Credential'}
        description={hint}
        value={draft.authValue}
        onChange={({ currentTarget }) => set({ authValue: currentTarget.value })}
        error={at('credentials.auth_value')}
        autoComplete="off"
      />
      <TextInput
        label="Or vault entry"
        description="Name of a global entry that holds the credential; read at every call"
        value={draft.vaultKey}
        onChange={({ currentTarget }) => set({ vaultKey: currentTarget.value })}
        error={at('vault_key')}
      />
    </>
  )
}
