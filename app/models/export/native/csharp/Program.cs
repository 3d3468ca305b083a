// Asks the model for the answers to the recorded samples and compares them with those that were wanted.
// It ends with 0 if all outputs match, 1 if one does not, 2 if something cannot be read or run.

using System.Runtime.InteropServices;
using System.Text.Json;
using Microsoft.ML.OnnxRuntime;
using Microsoft.ML.OnnxRuntime.Tensors;

try
{
    return Samples.Match(args.Length > 0 ? args[0] : ".") ? 0 : 1;
}
catch (Exception error) when (error is IOException or JsonException or OnnxRuntimeException or InvalidDataException)
{
    Console.Error.WriteLine(error.Message);
    return 2;
}

/// <summary>One array of samples.json.</summary>
internal sealed record Recorded(string Name, string Dtype, int[] Shape, byte[] Bytes)
{
    public static Recorded Read(string folder, JsonElement listed) => new(
        listed.GetProperty("name").GetString()!,
        listed.GetProperty("dtype").GetString()!,
        listed.GetProperty("shape").EnumerateArray().Select(size => size.GetInt32()).ToArray(),
        File.ReadAllBytes(Path.Combine(folder, listed.GetProperty("file").GetString()!)));

    public NamedOnnxValue AsInput() => Dtype switch
    {
        "float32" => Input<float>(),
        "float64" => Input<double>(),
        "int64" => Input<long>(),
        "int32" => Input<int>(),
        "int16" => Input<short>(),
        "uint16" => Input<ushort>(),
        "int8" => Input<sbyte>(),
        "uint8" => Input<byte>(),
        "bool" => Input<bool>(),
        _ => throw new InvalidDataException($"{Name} is of dtype {Dtype}, which this example does not know"),
    };

    public double[] AsNumbers() => Dtype switch
    {
        "float32" => Array.ConvertAll(Elements<float>(), x => (double)x),
        "float64" => Elements<double>(),
        "int64" => Array.ConvertAll(Elements<long>(), x => (double)x),
        "int32" => Array.ConvertAll(Elements<int>(), x => (double)x),
        "bool" or "uint8" => Array.ConvertAll(Bytes, x => (double)x),
        _ => throw new InvalidDataException($"{Name} is of dtype {Dtype}, which this example does not know"),
    };

    private NamedOnnxValue Input<T>() where T : struct =>
        NamedOnnxValue.CreateFromTensor(Name, new DenseTensor<T>(Elements<T>(), Shape));

    private T[] Elements<T>() where T : struct => MemoryMarshal.Cast<byte, T>(Bytes).ToArray();
}

internal static class Samples
{
    /// <summary>Returns whether the model answers all samples of a folder as it is meant to.</summary>
    public static bool Match(string folder)
    {
        var samples = Path.Combine(folder, "samples");
        using var listed = JsonDocument.Parse(File.ReadAllText(Path.Combine(samples, "samples.json")));
        var tolerance = listed.RootElement.GetProperty("tolerance").GetDouble();
        var inputs = Arrays(samples, listed, "inputs").Select(array => array.AsInput()).ToList();
        using var options = new SessionOptions { IntraOpNumThreads = 1 };
        using var session = new InferenceSession(Path.Combine(folder, "model.onnx"), options);
        using var answers = session.Run(inputs);
        var found = answers.ToDictionary(answer => answer.Name, Numbers);
        var all = true;
        foreach (var wanted in Arrays(samples, listed, "outputs"))
        {
            var error = LargestError(wanted.AsNumbers(), found[wanted.Name]);
            var good = error <= tolerance;
            Console.WriteLine($"{(good ? "ok  " : "FAIL")} {wanted.Name}: largest error {error:G3}, allowed {tolerance:G3}");
            all &= good;
        }
        return all;
    }

    private static IEnumerable<Recorded> Arrays(string folder, JsonDocument listed, string kind) =>
        listed.RootElement.GetProperty(kind).EnumerateArray().Select(array => Recorded.Read(folder, array));

    private static double[] Numbers(DisposableNamedOnnxValue answer) => answer.Value switch
    {
        Tensor<float> tensor => tensor.Select(x => (double)x).ToArray(),
        Tensor<double> tensor => tensor.ToArray(),
        Tensor<long> tensor => tensor.Select(x => (double)x).ToArray(),
        Tensor<int> tensor => tensor.Select(x => (double)x).ToArray(),
        Tensor<bool> tensor => tensor.Select(x => x ? 1.0 : 0.0).ToArray(),
        _ => throw new InvalidDataException($"{answer.Name} is of a type that this example does not know"),
    };

    private static double LargestError(double[] wanted, double[] got) =>
        wanted.Length != got.Length
            ? double.PositiveInfinity
            : wanted.Zip(got, (x, y) => Math.Abs(x - y) / Math.Max(1.0, Math.Abs(x))).DefaultIfEmpty(0)
                .Max(error => double.IsNaN(error) ? double.PositiveInfinity : error);
}
