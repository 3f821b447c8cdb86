import assert from 'node:assert/strict'
import { appendFileSync } from 'node:fs'
import { after } from 'node:test'
import { type ContractProxy, startContractProxy } from './proxy.ts'

/** The variable that puts a checking proxy in front of every service under test; its value is a file for the findings. */
export const contractVariable = 'SWITCHYARD_TEST_CONTRACT'

/** What a service under test has, and the proxy in front of it, too. */
interface Running {
  readonly url: string
  stop(): Promise<number | null>
  kill(): Promise<void>
}

/** True while every answer to a test is checked against the API reference. */
export const isContractChecked = (): boolean => process.env[contractVariable] !== undefined

/**
 * Returns the service as clients reach it through a checking proxy, on `port` if given. A violation fails the file of the
 * test, and is appended to the file that the variable names.
 */
export async function checkedService<S extends Running>(service: S, port?: number): Promise<S> {
  const proxy = await startContractProxy(service.url, port)
  after(() => report(proxy))
  return {
    ...service,
    url: proxy.url,
    stop: () => service.stop().finally(proxy.close),
    kill: () => service.kill().finally(proxy.close),
  }
}

function report(proxy: ContractProxy): void {
  proxy.close()
  const violations = proxy.violations()
  const file = process.env[contractVariable] ?? ''
  const lines = [{ checked: proxy.checked() }, ...violations].map(line => `${JSON.stringify(line)}\n`)
  appendFileSync(file, lines.join(''))
  assert.deepEqual(violations, [], 'the API reference does not describe these answers')
}
