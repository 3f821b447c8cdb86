import { spawn } from 'node:child_process'
import { join } from 'node:path'

/** Folders with packages of their own, which only tests need. */
export const testPackages = ['clients', 'api-reference'].map(name => join(import.meta.dirname, '..', 'test', name))

/** Starts their installation, which mostly waits for the network. Who needs one of them waits for its end, and reports errors. */
export function beginInstallation(): void {
  for (const folder of testPackages)
    spawn(process.execPath, [join(import.meta.dirname, 'install.mjs'), folder], { stdio: 'ignore' }).unref()
}
