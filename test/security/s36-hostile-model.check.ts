import { testHostileModel } from '../support/network/hostile-model.ts'
import { lack } from '../support/service/lack.ts'

for (const driver of ['bubblewrap', 'virtual'] as const) {
  if (driver === 'virtual' || !lack(driver)) await testHostileModel(driver)
}
