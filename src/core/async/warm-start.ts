/**
 * Lets one of several equal calls go first, so that the server has their common prefix in its cache when the others
 * come; when the first fails the others go all the same.
 */
export class WarmStart {
  private first: Promise<unknown> | null = null;

  async turn<T>(call: () => Promise<T>): Promise<T> {
    if (this.first === null) {
      const answer = call();
      this.first = answer.catch(() => undefined);
      return answer;
    }
    await this.first;
    return call();
  }
}
