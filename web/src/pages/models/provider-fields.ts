import type { ProviderWrite } from '../../../../src/contract/providers.ts'

type FieldName = keyof ProviderWrite

/** A field of the credential of a provider. */
export interface ProviderField {
  readonly name: FieldName
  readonly label: string
  readonly help?: string
  readonly placeholder?: string
  /** `json` is a text of several lines. */
  readonly kind: 'text' | 'secret' | 'json'
  readonly isRequired?: boolean
}

const key: ProviderField = { name: 'api_key', label: 'API key', kind: 'secret', isRequired: true }
const optionalKey: ProviderField = {
  name: 'api_key',
  label: 'API key',
  kind: 'secret',
  help: 'If its server asks for one',
}
const address = (placeholder: string | null): ProviderField => ({
  name: 'api_base',
  label: 'Address',
  kind: 'text',
  help: 'The key is sent to this host only',
  ...(placeholder !== null && { placeholder }),
  ...(placeholder === null && { isRequired: true }),
})

const special: Readonly<Record<string, readonly ProviderField[]>> = {
  azure: [{ ...address(null), placeholder: 'https://<resource>.openai.azure.com/openai/v1' }, key],
  'openai-compatible': [{ ...address(null), placeholder: 'https://vllm.example.com/v1' }, optionalKey],
  bedrock: [
    { name: 'aws_region_name', label: 'Region', kind: 'text', placeholder: 'eu-central-1', isRequired: true },
    { name: 'aws_access_key_id', label: 'Access key id', kind: 'text' },
    { name: 'aws_secret_access_key', label: 'Secret access key', kind: 'secret' },
    { name: 'aws_session_token', label: 'Session token', kind: 'secret', help: 'For temporary credentials' },
    { name: 'api_key', label: 'Bedrock API key', kind: 'secret', help: 'Instead of the access key' },
  ],
  vertex: [
    {
      name: 'vertex_credentials',
      label: 'Service account',
      kind: 'json',
      help: 'The JSON key of a Google service account',
      isRequired: true,
    },
    { name: 'vertex_project', label: 'Project', kind: 'text', help: 'Unless it is that of the service account' },
    { name: 'vertex_location', label: 'Location', kind: 'text', placeholder: 'global' },
  ],
}

/** Returns the fields of the credential of a provider. */
export function fieldsOf(provider: { readonly id: string; readonly default_api_base: string | null }) {
  const own = special[provider.id]
  if (own) return own
  if (provider.id === 'ollama') return [address(provider.default_api_base)]
  return [key, address(provider.default_api_base)]
}

/** Values of the fields by name. */
export type ProviderValues = Readonly<Partial<Record<FieldName, string>>>

/** Returns the credential with the fields that were filled in. */
export const credentialOf = (values: ProviderValues): ProviderWrite =>
  Object.fromEntries(
    Object.entries(values)
      .map(([name, value]) => [name, value.trim()])
      .filter(([, value]) => value !== ''),
  )

/** True when no required field is empty. */
export const isComplete = (fields: readonly ProviderField[], values: ProviderValues): boolean =>
  fields.every(({ name, isRequired }) => !isRequired || (values[name]?.trim() ?? '') !== '')
