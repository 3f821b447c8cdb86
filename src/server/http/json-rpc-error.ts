import type { AppError } from '../platform/errors.ts'

/** Error codes of JSON-RPC and MCP. Dialects: section 6. */
export const rpcCodes = {
  parse: -32_700,
  invalidRequest: -32_600,
  unknownMethod: -32_601,
  invalidParams: -32_602,
  internal: -32_603,
  server: -32_000,
  sessionNotFound: -32_001,
  headerMismatch: -32_020,
  missingCapability: -32_021,
  unsupportedVersion: -32_022,
} as const

/** Returns an error as a JSON-RPC response. `id` is null for an error outside of any request. */
export const jsonRpcError = ({ code, message, fields }: AppError, id: string | number | null) => ({
  jsonrpc: '2.0' as const,
  id,
  error: {
    code: Number(fields['rpc'] ?? (code === 'invalid_request' ? rpcCodes.invalidRequest : rpcCodes.server)),
    message,
  },
})
