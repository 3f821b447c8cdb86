import { hostileDrivers } from '../support/hostile/drivers.ts'
import { testHostileModel } from '../support/network/hostile-model.ts'

for (const { name, skip } of hostileDrivers) if (!skip) await testHostileModel(name)
