/** Mean label of those that a rule leaves tied at the top: the chance that it picks right. */
export function chance(candidates, labels, ...measures) {
  let left = [...candidates];
  for (const measure of measures) {
    const best = Math.max(...left.map((id) => measure(id) ?? -Infinity));
    left = left.filter((id) => (measure(id) ?? -Infinity) === best);
  }
  return left.filter((id) => labels.get(id) === true).length / left.length;
}
