import { type Static, Type } from 'typebox'
import { managedList, managedPage } from './managed-lists.ts'
import { Metadata, MetadataPatch } from './metadata.ts'
import { named } from './named.ts'
import { route } from './route.ts'
import { DateTime, Nullable } from './schemas.ts'

/** Active credentials of one vault. */
export const maxCredentials = 20

const DisplayName = Type.String({ minLength: 1, maxLength: 255, pattern: '\\S' })
const Token = Type.String({ minLength: 1, maxLength: 65_536, pattern: '^[\\x21-\\x7e]+$' })
const ServerUrl = Type.String({
  minLength: 1,
  maxLength: 2000,
  description: 'Address of the MCP server that gets the credential, as the agent names it',
})

/** A vault of the Managed Agents dialect: credentials for the MCP servers of sessions. */
export const ManagedVault = named(
  'ManagedVault',
  Type.Object({
    id: Type.String(),
    type: Type.Literal('vault'),
    display_name: Type.String(),
    metadata: Type.Record(Type.String(), Type.String()),
    created_at: DateTime,
    updated_at: DateTime,
    archived_at: Nullable(DateTime),
  }),
)
export type ManagedVault = Static<typeof ManagedVault>

const ManagedVaultCreate = named(
  'ManagedVaultCreate',
  Type.Object({ display_name: DisplayName, metadata: Type.Optional(Metadata) }),
)
export type ManagedVaultCreate = Static<typeof ManagedVaultCreate>

const ManagedVaultUpdate = named(
  'ManagedVaultUpdate',
  Type.Object({
    display_name: Type.Optional(Nullable(DisplayName)),
    metadata: Type.Optional(Nullable(MetadataPatch)),
  }),
)
export type ManagedVaultUpdate = Static<typeof ManagedVaultUpdate>

/** Refreshing is validated so that the error can name the alternative. */
const Refresh = Type.Optional(
  Nullable(Type.Object({}, { additionalProperties: true, description: 'Not supported: register the MCP server' })),
)
const ExpiresAt = Type.Optional(Nullable(DateTime))

const CredentialAuthWrite = named(
  'CredentialAuthWrite',
  Type.Union([
    Type.Object({ type: Type.Literal('static_bearer'), mcp_server_url: ServerUrl, token: Token }),
    Type.Object({
      type: Type.Literal('mcp_oauth'),
      mcp_server_url: ServerUrl,
      access_token: Token,
      expires_at: ExpiresAt,
      refresh: Refresh,
    }),
    Type.Object(
      { type: Type.Literal('environment_variable') },
      { additionalProperties: true, description: 'Not supported: use `config.network.secrets` of the agent' },
    ),
  ]),
)
export type CredentialAuthWrite = Static<typeof CredentialAuthWrite>

const CredentialAuthUpdate = named(
  'CredentialAuthUpdate',
  Type.Union([
    Type.Object({ type: Type.Literal('static_bearer'), token: Type.Optional(Nullable(Token)) }),
    Type.Object({
      type: Type.Literal('mcp_oauth'),
      access_token: Type.Optional(Nullable(Token)),
      expires_at: ExpiresAt,
      refresh: Refresh,
    }),
    Type.Object({ type: Type.Literal('environment_variable') }, { additionalProperties: true }),
  ]),
)
export type CredentialAuthUpdate = Static<typeof CredentialAuthUpdate>

const CredentialAuth = named(
  'CredentialAuth',
  Type.Union([
    Type.Object({ type: Type.Literal('static_bearer'), mcp_server_url: Type.String() }),
    Type.Object({
      type: Type.Literal('mcp_oauth'),
      mcp_server_url: Type.String(),
      expires_at: Nullable(DateTime),
      refresh: Type.Null(),
    }),
  ]),
)

/** A credential without its secret, which no route returns. */
export const VaultCredential = named(
  'VaultCredential',
  Type.Object({
    id: Type.String(),
    type: Type.Literal('vault_credential'),
    vault_id: Type.String(),
    display_name: Nullable(Type.String()),
    auth: CredentialAuth,
    metadata: Type.Record(Type.String(), Type.String()),
    created_at: DateTime,
    updated_at: DateTime,
    archived_at: Nullable(DateTime),
  }),
)
export type VaultCredential = Static<typeof VaultCredential>

const CapturedAnswer = named(
  'CapturedAnswer',
  Type.Object({
    status_code: Type.Integer(),
    content_type: Type.String(),
    body: Type.String({ description: 'Always empty: the text of a server that rejects a credential is not read' }),
    body_truncated: Type.Boolean(),
  }),
)

/** Whether an MCP server accepts a credential. */
export const CredentialValidation = named(
  'CredentialValidation',
  Type.Object({
    type: Type.Literal('vault_credential_validation'),
    vault_id: Type.String(),
    credential_id: Type.String(),
    status: Type.Union([Type.Literal('valid'), Type.Literal('invalid'), Type.Literal('unknown')], {
      description: '`invalid`: rejected, or without a secret; `unknown`: the server could not be asked',
    }),
    has_refresh_token: Type.Literal(false),
    mcp_probe: Nullable(
      Type.Object({ method: Type.String(), http_response: Nullable(CapturedAnswer) }),
      'The request that failed; null when none did, or none was sent',
    ),
    refresh: Nullable(
      Type.Object({ status: Type.Literal('no_refresh_token'), http_response: Type.Null() }),
      'After status 401',
    ),
    validated_at: DateTime,
  }),
)
export type CredentialValidation = Static<typeof CredentialValidation>

const VaultCredentialCreate = named(
  'VaultCredentialCreate',
  Type.Object({
    auth: CredentialAuthWrite,
    display_name: Type.Optional(Nullable(DisplayName)),
    metadata: Type.Optional(Metadata),
  }),
)
export type VaultCredentialCreate = Static<typeof VaultCredentialCreate>

const VaultCredentialUpdate = named(
  'VaultCredentialUpdate',
  Type.Object({
    auth: Type.Optional(CredentialAuthUpdate),
    display_name: Type.Optional(Nullable(DisplayName)),
    metadata: Type.Optional(Nullable(MetadataPatch)),
  }),
)
export type VaultCredentialUpdate = Static<typeof VaultCredentialUpdate>

const VaultPath = Type.Object({ vault_id: Type.String() })
const CredentialPath = Type.Object({ vault_id: Type.String(), credential_id: Type.String() })
const listQuery = Type.Object({ ...managedPage, include_archived: Type.Optional(Type.Boolean({ default: false })) })
const base = { access: 'key', errorShape: 'anthropic' } as const
const path = '/v1/vaults'

export const managedVaultRoutes = {
  create: route({
    ...base,
    id: 'managed_vaults.create',
    unknownFields: 'reported',
    method: 'POST',
    path,
    body: ManagedVaultCreate,
    responses: { 200: ManagedVault },
    summary: 'Create a vault (Managed Agents)',
    description: 'Creates a vault of the caller. Sessions that name it in `vault_ids` use its credentials.',
  }),
  list: route({
    ...base,
    id: 'managed_vaults.list',
    method: 'GET',
    path,
    query: listQuery,
    responses: { 200: managedList(ManagedVault) },
    summary: 'List vaults (Managed Agents)',
    description: 'Lists the caller’s vaults, newest first.',
  }),
  get: route({
    ...base,
    id: 'managed_vaults.get',
    method: 'GET',
    path: `${path}/{vault_id}`,
    params: VaultPath,
    responses: { 200: ManagedVault },
    summary: 'Read a vault (Managed Agents)',
    description: 'Returns one vault without its credentials.',
  }),
  update: route({
    ...base,
    id: 'managed_vaults.update',
    unknownFields: 'reported',
    method: 'POST',
    path: `${path}/{vault_id}`,
    params: VaultPath,
    body: ManagedVaultUpdate,
    responses: { 200: ManagedVault },
    summary: 'Update a vault (Managed Agents)',
    description: 'Changes the name or the metadata of a vault.',
  }),
  archive: route({
    ...base,
    id: 'managed_vaults.archive',
    method: 'POST',
    path: `${path}/{vault_id}/archive`,
    params: VaultPath,
    responses: { 200: ManagedVault },
    summary: 'Archive a vault (Managed Agents)',
    description: 'Deletes the secrets of the vault for good. The records of its credentials stay, archived.',
  }),
  remove: route({
    ...base,
    id: 'managed_vaults.remove',
    method: 'DELETE',
    path: `${path}/{vault_id}`,
    params: VaultPath,
    responses: { 200: Type.Object({ id: Type.String(), type: Type.Literal('vault_deleted') }) },
    summary: 'Delete a vault (Managed Agents)',
    description: 'Deletes a vault with its credentials and their secrets.',
  }),
  createCredential: route({
    ...base,
    id: 'vault_credentials.create',
    unknownFields: 'reported',
    method: 'POST',
    path: `${path}/{vault_id}/credentials`,
    params: VaultPath,
    body: VaultCredentialCreate,
    responses: { 200: VaultCredential },
    summary: 'Create a credential',
    description:
      'Stores a bearer token for an MCP server, encrypted as an entry of the vault under `/api/vault`. A vault has at most one active credential for an address.',
  }),
  credentials: route({
    ...base,
    id: 'vault_credentials.list',
    method: 'GET',
    path: `${path}/{vault_id}/credentials`,
    params: VaultPath,
    query: listQuery,
    responses: { 200: managedList(VaultCredential) },
    summary: 'List the credentials of a vault',
    description: 'Lists credentials without their secrets, newest first.',
  }),
  credential: route({
    ...base,
    id: 'vault_credentials.get',
    method: 'GET',
    path: `${path}/{vault_id}/credentials/{credential_id}`,
    params: CredentialPath,
    responses: { 200: VaultCredential },
    summary: 'Read a credential',
    description: 'Returns one credential without its secret.',
  }),
  updateCredential: route({
    ...base,
    id: 'vault_credentials.update',
    unknownFields: 'reported',
    method: 'POST',
    path: `${path}/{vault_id}/credentials/{credential_id}`,
    params: CredentialPath,
    body: VaultCredentialUpdate,
    responses: { 200: VaultCredential },
    summary: 'Update a credential',
    description: 'Replaces the secret, or changes the name or the metadata. The type and the address stay.',
  }),
  validateCredential: route({
    ...base,
    id: 'vault_credentials.validate',
    method: 'POST',
    path: `${path}/{vault_id}/credentials/{credential_id}/mcp_oauth_validate`,
    params: CredentialPath,
    responses: { 200: CredentialValidation },
    summary: 'Test a credential',
    description:
      'Lists the tools of the MCP server with the credential and reports whether it was accepted. Bearer tokens can be tested, too.',
  }),
  archiveCredential: route({
    ...base,
    id: 'vault_credentials.archive',
    method: 'POST',
    path: `${path}/{vault_id}/credentials/{credential_id}/archive`,
    params: CredentialPath,
    responses: { 200: VaultCredential },
    summary: 'Archive a credential',
    description: 'Deletes the secret for good. The record of the credential stays.',
  }),
  removeCredential: route({
    ...base,
    id: 'vault_credentials.remove',
    method: 'DELETE',
    path: `${path}/{vault_id}/credentials/{credential_id}`,
    params: CredentialPath,
    responses: { 200: Type.Object({ id: Type.String(), type: Type.Literal('vault_credential_deleted') }) },
    summary: 'Delete a credential',
    description: 'Deletes a credential with its secret.',
  }),
}
