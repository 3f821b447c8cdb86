import { hostileDrivers } from '../support/hostile/drivers.ts'
import { testHostileSessions } from '../support/hostile/sessions.ts'

await testHostileSessions(hostileDrivers, { withCalls: true })
