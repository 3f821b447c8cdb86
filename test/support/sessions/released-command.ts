import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Service } from '../service/service.ts'

/** A shell command that runs until `release`, however slow the machine is. */
export const untilReleased = 'until [ -e release ]; do sleep 0.1; done; rm release'

/** Ends the command `untilReleased` of a session. */
export const release = ({ dataDir }: Pick<Service, 'dataDir'>, session: string): Promise<void> =>
  writeFile(join(dataDir, 'workspaces', session, 'release'), '')
