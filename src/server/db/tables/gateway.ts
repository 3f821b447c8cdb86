import type { DefaultTime, EncryptedValue, Json, JsonObject } from './columns.ts'

/** Table `provider_credentials`: one encrypted credential per provider, with its address. */
export interface ProviderCredentialTable extends EncryptedValue {
  id: string
  provider: string
  api_base: string
  masked: string
  created_at: DefaultTime
  updated_at: DefaultTime
}

/** Table `deployments`: models added through the API. */
export interface DeploymentTable {
  id: string
  model_name: string
  params: Json<JsonObject>
  version: number
  /** Encrypted secrets of `params`; null if there are none. */
  sealed: Buffer | null
  key_id: string | null
  created_by: string
  created_at: DefaultTime
  updated_at: DefaultTime
}

/** Table `responses`: answers in the Responses format that a caller may continue. */
export interface ResponseTable {
  principal: string
  id: string
  deployment: string
  previous_id: string | null
  is_translated: boolean
  upstream_id: string | null
  created_at: DefaultTime
  expires_at: Date
}

/** Table `response_contents`: encrypted requests and answers of stored responses. */
export interface ResponseContentTable extends EncryptedValue {
  principal: string
  id: string
}

/** Table `background_responses`: responses that run in the background, with their encrypted request until they end. */
export interface BackgroundResponseTable {
  principal: string
  id: string
  api_key_id: string | null
  status: string
  is_stream: boolean
  next_event: number
  starts: number
  is_cancelled: boolean
  due_at: DefaultTime
  fence: number
  lease_owner: string | null
  lease_until: Date | null
  created_at: DefaultTime
  version: number
  sealed: Buffer | null
  key_id: string | null
}

/** Table `background_events`: encrypted events of background responses, several per row. */
export interface BackgroundEventTable extends EncryptedValue {
  principal: string
  id: string
  place: string
  last_event: number
}

/** Table `response_cache`: encrypted answers for repeated requests. */
export interface ResponseCacheTable extends EncryptedValue {
  principal: string
  id: string
  bytes: number
  created_at: DefaultTime
  expires_at: Date
}
