import { AppError } from '../../platform/errors.ts'
import type { RegisteredServer } from '../registry/server.ts'

/** Error of a server that cannot be used; `problem` continues its name. */
export const serverFailure = (
  { server_name }: Pick<RegisteredServer, 'server_name'>,
  problem: string,
  cause?: unknown,
): AppError => new AppError('upstream_unreachable', `MCP server ${server_name} ${problem}`, { cause })
