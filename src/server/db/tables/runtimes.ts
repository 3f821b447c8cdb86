import type { ApiSpec } from '../../../contract/runtimes.ts'
import type { DefaultTime, EncryptedValue } from './columns.ts'

/** Table `runtime_credentials`: one row per connected built-in runtime. */
export interface RuntimeCredentialTable extends EncryptedValue {
  id: string
  api_base: string
  masked: string
  created_at: DefaultTime
  updated_at: DefaultTime
}

/** Table `runtime_harnesses`: runtimes registered through the API. */
export interface RuntimeHarnessTable {
  alias: string
  api_spec: ApiSpec
  display_name: string
  api_base: string
  /** Null without a key, like the next two columns. */
  masked: string | null
  version: number
  sealed: Buffer | null
  key_id: string | null
  created_by: string
  created_at: DefaultTime
  updated_at: DefaultTime
}

/** Table `runtime_health`: result of the last health check of a runtime. */
export interface RuntimeHealthTable {
  id: string
  api_base: string
  version: number
  checked_at: Date
  error: string | null
  /** Earliest time of the next health check by any replica; null for now. */
  look_after: Date | null
}
