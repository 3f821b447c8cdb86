import { hostileDrivers } from '../support/hostile/drivers.ts'
import { testHostileModel } from '../support/network/hostile-model.ts'

for (const driver of hostileDrivers) if (!driver.skip) await testHostileModel(driver)
